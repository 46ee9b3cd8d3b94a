"""The functions of the Array API standard 2024.12, with their signatures as it gives them."""

from __future__ import annotations

SIGNATURES = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing='xy')
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
astype(x, dtype, /, *, copy=True, device=None)
broadcast_arrays(*arrays)
broadcast_to(x, /, shape)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)
matmul(x1, x2, /)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)
concat(arrays, /, *, axis=0)
expand_dims(x, /, *, axis=0)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)
searchsorted(x1, x2, /, *, side='left', sorter=None)
where(condition, x1, x2, /)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
clip(x, /, min=None, max=None)
linalg.cholesky(x, /, *, upper=False)
linalg.cross(x1, x2, /, *, axis=-1)
linalg.det(x, /)
linalg.diagonal(x, /, *, offset=0)
linalg.eigh(x, /)
linalg.eigvalsh(x, /)
linalg.inv(x, /)
linalg.matmul(x1, x2, /)
linalg.matrix_norm(x, /, *, keepdims=False, ord='fro')
linalg.matrix_power(x, n, /)
linalg.matrix_rank(x, /, *, rtol=None)
linalg.matrix_transpose(x, /)
linalg.outer(x1, x2, /)
linalg.pinv(x, /, *, rtol=None)
linalg.qr(x, /, *, mode='reduced')
linalg.slogdet(x, /)
linalg.solve(x1, x2, /)
linalg.svd(x, /, *, full_matrices=True)
linalg.svdvals(x, /)
linalg.tensordot(x1, x2, /, *, axes=2)
linalg.trace(x, /, *, offset=0, dtype=None)
linalg.vecdot(x1, x2, /, *, axis=-1)
linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
fft.fft(x, /, *, n=None, axis=-1, norm='backward')
fft.ifft(x, /, *, n=None, axis=-1, norm='backward')
fft.fftn(x, /, *, s=None, axes=None, norm='backward')
fft.ifftn(x, /, *, s=None, axes=None, norm='backward')
fft.rfft(x, /, *, n=None, axis=-1, norm='backward')
fft.irfft(x, /, *, n=None, axis=-1, norm='backward')
fft.rfftn(x, /, *, s=None, axes=None, norm='backward')
fft.irfftn(x, /, *, s=None, axes=None, norm='backward')
fft.hfft(x, /, *, n=None, axis=-1, norm='backward')
fft.ihfft(x, /, *, n=None, axis=-1, norm='backward')
fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.fftshift(x, /, *, axes=None)
fft.ifftshift(x, /, *, axes=None)
""".split("\n")[1:-1]

#: Which kinds of dtypes each elementwise function of one operand takes, and which it gives.
UNARY = {
    **dict.fromkeys(
        "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 sin sinh sqrt tan "
        "tanh reciprocal".split(),
        ("floating", "same"),
    ),
    **dict.fromkeys(("negative", "positive", "square", "sign"), ("numeric", "same")),
    **dict.fromkeys(("ceil", "floor", "trunc"), ("real", "same")),
    "round": ("numeric", "same"),
    "abs": ("numeric", "real part"),
    "conj": ("numeric", "same"),
    "real": ("numeric", "real part"),
    "imag": ("complex", "real part"),
    "bitwise_invert": ("integer or bool", "same"),
    "logical_not": ("bool", "bool"),
    "signbit": ("real floating", "bool"),
    **dict.fromkeys(("isfinite", "isinf", "isnan"), ("numeric", "bool")),
}
#: The same for functions of two operands.
BINARY = {
    **dict.fromkeys(("add", "subtract", "multiply"), ("numeric", "promoted")),
    "divide": ("floating", "promoted"),
    **dict.fromkeys(("floor_divide", "remainder"), ("real", "promoted")),
    "pow": ("numeric", "promoted"),
    **dict.fromkeys(
        ("atan2", "copysign", "hypot", "logaddexp", "nextafter"), ("real floating", "promoted")
    ),
    **dict.fromkeys(("maximum", "minimum"), ("real", "promoted")),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), ("integer or bool", "promoted")),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), ("integer", "promoted")),
    **dict.fromkeys(("equal", "not_equal"), ("all", "bool")),
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), ("real", "bool")),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), ("bool", "bool")),
}
CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")
ATTRIBUTES = "dtype device mT ndim shape size T to_device".split()
METHODS = [
    f"__{name}__"
    for name in (
        "abs add and array_namespace bool complex dlpack dlpack_device eq float floordiv ge getitem gt "
        "index int invert le lshift lt matmul mod mul ne neg or pos pow rshift setitem sub truediv xor "
        "iadd isub imul itruediv ifloordiv ipow imod imatmul iand ior ixor ilshift irshift radd rsub "
        "rmul rtruediv rfloordiv rpow rmod rmatmul rand ror rxor rlshift rrshift"
    ).split()
]
