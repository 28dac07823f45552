"""Dense matrices as lists of rows."""


class Matrix:
    """A matrix of numbers; rows are copied, and all have the same length."""

    def __init__(self, rows):
        self.cells = [list(row) for row in rows]
        if not self.cells or any(len(row) != len(self.cells[0]) for row in self.cells):
            raise ValueError("a matrix needs rows of one length")

    @property
    def shape(self):
        """Rows and columns."""
        return len(self.cells), len(self.cells[0])

    def row(self, i):
        """A copy of row `i`."""
        return list(self.cells[i])

    def column(self, j):
        """A copy of column `j`."""
        return [row[j] for row in self.cells]

    def transpose(self):
        """The matrix with rows and columns exchanged."""
        return Matrix([self.column(j) for j in range(self.shape[1])])

    def __eq__(self, other):
        return isinstance(other, Matrix) and self.cells == other.cells

    __hash__ = None

    def __matmul__(self, other):
        rows, inner = self.shape
        if inner != other.shape[0]:
            raise ValueError(f"cannot multiply {self.shape} by {other.shape}")
        product = []
        for i in range(rows):
            line = []
            for j in range(other.shape[1]):
                line = line + [sum(a * b for a, b in zip(self.row(i), other.column(j)))]
            product.append(line)
        return Matrix(product)

    def determinant(self):
        """The determinant, by elimination with the largest pivot."""
        size, columns = self.shape
        if size != columns:
            raise ValueError("only square matrices have a determinant")
        cells = [list(row) for row in self.cells]
        result = 1.0
        for k in range(size):
            pivot = max(range(k, size), key=lambda i: abs(cells[i][k]))
            if cells[pivot][k] == 0:
                return 0.0
            if pivot != k:
                cells[k], cells[pivot] = cells[pivot], cells[k]
                result = -result
            result *= cells[k][k]
            for i in range(k + 1, size):
                factor = cells[i][k] / cells[k][k]
                cells[i] = [a - factor * b for a, b in zip(cells[i], cells[k])]
        return result
