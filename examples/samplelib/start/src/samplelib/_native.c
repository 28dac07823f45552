/* The compiled part of samplelib: counting over lists of numbers. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Copy a Python sequence of numbers to a new array; NULL with an exception set where that fails. */
static double *
copy_numbers(PyObject *sequence, Py_ssize_t *size)
{
    PyObject *fast = PySequence_Fast(sequence, "a sequence of numbers is needed");
    if (fast == NULL) {
        return NULL;
    }
    *size = PySequence_Fast_GET_SIZE(fast);
    double *numbers = PyMem_New(double, *size > 0 ? *size : 1);
    if (numbers == NULL) {
        Py_DECREF(fast);
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < *size; i++) {
        numbers[i] = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(fast, i));
        if (numbers[i] == -1.0 && PyErr_Occurred()) {
            PyMem_Free(numbers);
            Py_DECREF(fast);
            return NULL;
        }
    }
    Py_DECREF(fast);
    return numbers;
}

static long long
inversions(const double *numbers, Py_ssize_t size)
{
    long long count = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        for (Py_ssize_t j = i + 1; j < size; j++) {
            if (numbers[i] > numbers[j]) {
                count++;
            }
        }
    }
    return count;
}

static PyObject *
count_inversions(PyObject *module, PyObject *sequence)
{
    (void)module;
    Py_ssize_t size;
    double *numbers = copy_numbers(sequence, &size);
    if (numbers == NULL) {
        return NULL;
    }
    long long count = inversions(numbers, size);
    PyMem_Free(numbers);
    return PyLong_FromLongLong(count);
}

static PyMethodDef methods[] = {
    {"count_inversions", count_inversions, METH_O, "How many pairs of the sequence stand in the wrong order."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "The compiled part of samplelib.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    return PyModule_Create(&definition);
}
