"""An environment in several layers, so that images share them: each large project, the middling ones, the rest."""

from datasmith.docker.context import LOCK
from datasmith.docker.engine import Tier
from datasmith.docker.layers import content
from datasmith.docker.templates.fetch_sources import take_apart

LARGE = (
    "tensorflow", "nvidia-", "torch", "triton", "mkl", "pyside6-addons", "vtk", "cupy-cuda12x", "xgboost", "catboost",
    "casadi", "jaxlib", "pyqt6-qt6", "pyside6-essentials", "ray", "opencv-python", "opencv-python-headless",
    "pyqt5-qt5", "llvmlite", "pyarrow", "polars", "rasterio", "spacy", "scipy", "pyogrio", "faiss-cpu", "onnxruntime",
    "duckdb", "numpy", "scikit-image", "pandas", "statsmodels", "cartopy", "babel", "matplotlib", "netcdf4", "astropy",
    "pyproj", "plotly", "scikit-learn", "botocore",
)  # fmt: skip
"""Projects whose wheels for Linux on x86-64 have 9 MB and more (PyPI, November 2026), about the largest first; a name
that ends in a hyphen stands for all that begin so. What is not named goes into the last layer, with all that is small.
"""

MIDDLING = frozenset((
    "setuptools", "pip", "pygments", "sphinx", "docutils", "jedi", "ipython", "sympy", "networkx", "sqlalchemy",
    "cryptography", "pillow", "lxml", "h5py", "fonttools", "tornado", "cython", "numexpr", "tables", "bokeh", "dask",
    "distributed", "xarray", "virtualenv", "aiohttp", "grpcio", "numba", "shapely", "pyzmq", "debugpy", "kiwisolver",
    "numcodecs", "bottleneck", "pydantic-core", "jupyterlab", "notebook", "nbconvert", "tzdata", "pytz", "hypothesis",
    "mypy", "sentencepiece", "tokenizers", "transformers", "django", "patsy", "seaborn", "rich", "gevent", "pyyaml",
))  # fmt: skip
"""Projects with some hundred modules or 1 to 9 MB: they share the layer before the last. What is smaller moves more
often, and to install these again would take most of the last layer's time.
"""


def parts_of(tier: Tier) -> tuple[str, ...]:
    """The locks of an env tier's first layers: one of each large project, then one of all middling ones.

    Only what is locked as a wheel counts. The order is the same in every lock: two images share the layers before the
    first pin that differs.
    """
    lock = tier.files.get(LOCK) if tier.kind == "env" else None
    wheels = take_apart(content(lock).decode())[0] if lock else []
    found = ["".join(entry for entry in wheels if _is(name, entry.partition("==")[0])) for name in LARGE]
    middling = "".join(entry for entry in wheels if entry.partition("==")[0] in MIDDLING)
    return tuple(part for part in (*found, middling) if part)


def _is(large: str, name: str) -> bool:
    return name.startswith(large) if large.endswith("-") else name == large
