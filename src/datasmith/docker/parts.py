"""An environment in several layers: what is large first, each in a layer of its own, so that images share it."""

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


def parts_of(tier: Tier) -> tuple[str, ...]:
    """The locks of an env tier's first layers, in their order: one for each large project that is locked as a wheel.

    The order is the same in every lock: two images share the layers before the first pin that differs.
    """
    lock = tier.files.get(LOCK) if tier.kind == "env" else None
    wheels = take_apart(content(lock).decode())[0] if lock else []
    found = ("".join(entry for entry in wheels if _is(name, entry.partition("==")[0])) for name in LARGE)
    return tuple(part for part in found if part)


def _is(large: str, name: str) -> bool:
    return name.startswith(large) if large.endswith("-") else name == large
