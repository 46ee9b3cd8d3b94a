"""NumPy's functions on arrays that can be differentiated, batched and compiled.

Names, arguments and semantics are those of `jax.numpy`; where JAX lacks a function of NumPy, those of
NumPy. Every result is a read-only `Array`.
"""

from typing import Any

from fgrad.errors import MissingNameError as _MissingNameError
from fgrad.numpy import fft, linalg
from fgrad.numpy.averages import (
    average,
    mean,
    std,
    var,
)
from fgrad.numpy.bits import (
    frexp,
    packbits,
    unpackbits,
)
from fgrad.numpy.broadcasting import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
)
from fgrad.numpy.choices import (
    choose,
    piecewise,
    select,
)
from fgrad.numpy.comparison import (
    allclose,
    array_equal,
    array_equiv,
    isclose,
)
from fgrad.numpy.conversion import (
    asanyarray,
    asarray_chkfinite,
    ascontiguousarray,
    asfortranarray,
    ndenumerate,
    ndindex,
    real_if_close,
    require,
)
from fgrad.numpy.convolution import (
    convolve,
    correlate,
)
from fgrad.numpy.covariance import (
    corrcoef,
    cov,
)
from fgrad.numpy.creation import (
    array,
    asarray,
    astype,
    copy,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    identity,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from fgrad.numpy.cumulative import (
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    nancumprod,
    nancumsum,
)
from fgrad.numpy.diagonals import (
    diag,
    diagflat,
    diagonal,
    trace,
    tri,
    tril,
    triu,
)
from fgrad.numpy.differences import (
    diff,
    ediff1d,
    gradient,
    trapezoid,
)
from fgrad.numpy.einsum import (
    einsum,
    einsum_path,
)
from fgrad.numpy.files import (
    from_dlpack,
    frombuffer,
    fromfile,
    fromiter,
    fromstring,
    genfromtxt,
    load,
    loadtxt,
    save,
    savetxt,
    savez,
    savez_compressed,
)
from fgrad.numpy.grids import (
    c_,
    fromfunction,
    index_exp,
    indices,
    meshgrid,
    mgrid,
    ogrid,
    r_,
    s_,
)
from fgrad.numpy.histograms import (
    bincount,
    histogram,
    histogram2d,
    histogram_bin_edges,
    histogramdd,
)
from fgrad.numpy.index_grids import (
    diag_indices,
    diag_indices_from,
    ix_,
    mask_indices,
    ravel_multi_index,
    tril_indices,
    tril_indices_from,
    triu_indices,
    triu_indices_from,
    unravel_index,
)
from fgrad.numpy.indexing import (
    fill_diagonal,
    put,
    put_along_axis,
    take,
    take_along_axis,
)
from fgrad.numpy.inserting import (
    delete,
    insert,
    trim_zeros,
)
from fgrad.numpy.interpolation import (
    interp,
)
from fgrad.numpy.joining import (
    append,
    block,
    column_stack,
    concat,
    concatenate,
    dstack,
    hstack,
    stack,
    vstack,
)
from fgrad.numpy.manipulation import (
    expand_dims,
    matrix_transpose,
    moveaxis,
    permute_dims,
    ravel,
    reshape,
    rollaxis,
    squeeze,
    swapaxes,
    transpose,
)
from fgrad.numpy.mapping import (
    apply_along_axis,
    apply_over_axes,
    vectorize,
)
from fgrad.numpy.masking import (
    compress,
    copyto,
    extract,
    place,
    putmask,
)
from fgrad.numpy.namespace_info import ARRAY_API_VERSION as __array_api_version__
from fgrad.numpy.namespace_info import ArrayNamespaceInfo as __array_namespace_info__
from fgrad.numpy.nan_reductions import (
    nanargmax,
    nanargmin,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
)
from fgrad.numpy.padding import (
    pad,
)
from fgrad.numpy.phases import (
    unwrap,
)
from fgrad.numpy.polynomial_arithmetic import (
    polyadd,
    polyder,
    polydiv,
    polyint,
    polymul,
    polysub,
)
from fgrad.numpy.polynomials import (
    poly,
    polyfit,
    polyval,
    roots,
    vander,
)
from fgrad.numpy.products import (
    cross,
    dot,
    inner,
    kron,
    matmul,
    matvec,
    outer,
    tensordot,
    vdot,
    vecdot,
    vecmat,
)
from fgrad.numpy.quantiles import (
    median,
    nanmedian,
    nanpercentile,
    nanquantile,
    percentile,
    quantile,
)
from fgrad.numpy.questions import (
    array2string,
    array_repr,
    array_str,
    common_type,
    get_printoptions,
    iscomplexobj,
    isrealobj,
    isscalar,
    iterable,
    min_scalar_type,
    ndim,
    printoptions,
    set_printoptions,
    shape,
    size,
)
from fgrad.numpy.ranges import (
    arange,
    geomspace,
    linspace,
    logspace,
)
from fgrad.numpy.reductions import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    count_nonzero,
    max,
    min,
    prod,
    ptp,
    sum,
)
from fgrad.numpy.reordering import (
    flip,
    fliplr,
    flipud,
    repeat,
    resize,
    roll,
    rot90,
    tile,
)
from fgrad.numpy.searching import (
    argwhere,
    digitize,
    flatnonzero,
    nonzero,
    searchsorted,
)
from fgrad.numpy.selection import (
    where,
)
from fgrad.numpy.sets import (
    intersect1d,
    isin,
    setdiff1d,
    setxor1d,
    union1d,
)
from fgrad.numpy.sorting import (
    argpartition,
    argsort,
    lexsort,
    partition,
    sort,
    sort_complex,
)
from fgrad.numpy.splitting import (
    array_split,
    dsplit,
    hsplit,
    split,
    unstack,
    vsplit,
)
from fgrad.numpy.types import (
    NARROW_TYPES,
    ComplexWarning,
    ScalarType,
    bool_,
    can_cast,
    cdouble,
    character,
    complex64,
    complex128,
    complex_,
    complexfloating,
    csingle,
    double,
    dtype,
    e,
    euler_gamma,
    finfo,
    flexible,
    float16,
    float32,
    float64,
    float_,
    floating,
    generic,
    half,
    iinfo,
    inexact,
    inf,
    int8,
    int16,
    int32,
    int64,
    int_,
    integer,
    isdtype,
    issubdtype,
    nan,
    narrow_type,
    ndarray,
    newaxis,
    number,
    object_,
    pi,
    promote_types,
    result_type,
    signedinteger,
    single,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    unsignedinteger,
)
from fgrad.numpy.types import bool_ as bool
from fgrad.numpy.ufunc_methods import (
    frompyfunc,
    ufunc,
)
from fgrad.numpy.ufuncs import (
    abs,
    absolute,
    acos,
    acosh,
    add,
    angle,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    around,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_count,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    cbrt,
    ceil,
    clip,
    conj,
    conjugate,
    copysign,
    cos,
    cosh,
    deg2rad,
    degrees,
    divide,
    divmod,
    equal,
    exp,
    exp2,
    expm1,
    fabs,
    fix,
    float_power,
    floor,
    floor_divide,
    fmax,
    fmin,
    fmod,
    gcd,
    greater,
    greater_equal,
    heaviside,
    hypot,
    i0,
    imag,
    invert,
    iscomplex,
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
    isreal,
    lcm,
    ldexp,
    left_shift,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    mod,
    modf,
    multiply,
    nan_to_num,
    negative,
    nextafter,
    not_equal,
    positive,
    power,
    rad2deg,
    radians,
    real,
    reciprocal,
    remainder,
    right_shift,
    rint,
    round,
    sign,
    signbit,
    sin,
    sinc,
    sinh,
    spacing,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    true_divide,
    trunc,
)
from fgrad.numpy.ufuncs import power as pow
from fgrad.numpy.uniques import (
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from fgrad.numpy.windows import (
    bartlett,
    blackman,
    hamming,
    hanning,
    kaiser,
)


def __getattr__(name: str) -> Any:
    if name in NARROW_TYPES:
        found = globals()[name] = narrow_type(name)
        return found
    raise _MissingNameError(__name__, name)


# fmt: off
__all__ = [
    "ComplexWarning", "ScalarType", "__array_api_version__", "__array_namespace_info__", "abs", "absolute", "acos",
    "acosh", "add", "all", "allclose", "amax", "amin", "angle", "any", "append",
    "apply_along_axis", "apply_over_axes", "arange", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "argmax", "argmin", "argpartition", "argsort", "argwhere",
    "around", "array", "array2string", "array_equal", "array_equiv", "array_repr", "array_split",
    "array_str", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray",
    "asfortranarray", "asin", "asinh", "astype", "atan", "atan2", "atanh", "atleast_1d",
    "atleast_2d", "atleast_3d", "average", "bartlett", "bincount", "bitwise_and", "bitwise_count",
    "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "blackman", "block", "bool", "bool_", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "c_", "can_cast", "cbrt", "cdouble", "ceil", "character", "choose", "clip",
    "column_stack", "common_type", "complex64", "complex128", "complex_", "complexfloating",
    "compress", "concat", "concatenate", "conj", "conjugate", "convolve", "copy", "copysign",
    "copyto", "corrcoef", "correlate", "cos", "cosh", "count_nonzero", "cov", "cross", "csingle",
    "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "deg2rad", "degrees", "delete",
    "diag", "diag_indices", "diag_indices_from", "diagflat", "diagonal", "diff", "digitize",
    "divide", "divmod", "dot", "double", "dsplit", "dstack", "dtype", "e", "ediff1d", "einsum",
    "einsum_path", "empty", "empty_like", "equal", "euler_gamma", "exp", "exp2", "expand_dims",
    "expm1", "extract", "eye", "fabs", "fft", "fill_diagonal", "finfo", "fix", "flatnonzero",
    "flexible", "flip", "fliplr", "flipud", "float16", "float32", "float64", "float_",
    "float_power", "floating", "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp",
    "from_dlpack", "frombuffer", "fromfile", "fromfunction", "fromiter", "frompyfunc",
    "fromstring", "full", "full_like", "gcd", "generic", "genfromtxt", "geomspace",
    "get_printoptions", "gradient", "greater", "greater_equal", "half", "hamming", "hanning",
    "heaviside", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd", "hsplit",
    "hstack", "hypot", "i0", "identity", "iinfo", "imag", "index_exp", "indices", "inexact", "inf",
    "inner", "insert", "int8", "int16", "int32", "int64", "int_", "integer", "interp",
    "intersect1d", "invert", "isclose", "iscomplex", "iscomplexobj", "isdtype", "isfinite", "isin",
    "isinf", "isnan", "isneginf", "isposinf", "isreal", "isrealobj", "isscalar", "issubdtype",
    "iterable", "ix_", "kaiser", "kron", "lcm", "ldexp", "left_shift", "less", "less_equal",
    "lexsort", "linalg", "linspace", "load", "loadtxt", "log", "log1p", "log2", "log10",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor",
    "logspace", "mask_indices", "matmul", "matrix_transpose", "matvec", "max", "maximum", "mean",
    "median", "meshgrid", "mgrid", "min", "min_scalar_type", "minimum", "mod", "modf", "moveaxis",
    "multiply", "nan", "nan_to_num", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax",
    "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd",
    "nansum", "nanvar", "ndarray", "ndenumerate", "ndim", "ndindex", "negative", "newaxis",
    "nextafter", "nonzero", "not_equal", "number", "object_", "ogrid", "ones", "ones_like",
    "outer", "packbits", "pad", "partition", "percentile", "permute_dims", "pi", "piecewise",
    "place", "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub",
    "polyval", "positive", "pow", "power", "printoptions", "prod", "promote_types", "ptp", "put",
    "put_along_axis", "putmask", "quantile", "r_", "rad2deg", "radians", "ravel",
    "ravel_multi_index", "real", "real_if_close", "reciprocal", "remainder", "repeat", "require",
    "reshape", "resize", "result_type", "right_shift", "rint", "roll", "rollaxis", "roots",
    "rot90", "round", "s_", "save", "savetxt", "savez", "savez_compressed", "searchsorted",
    "select", "set_printoptions", "setdiff1d", "setxor1d", "shape", "sign", "signbit",
    "signedinteger", "sin", "sinc", "single", "sinh", "size", "sort", "sort_complex", "spacing",
    "split", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "swapaxes", "take",
    "take_along_axis", "tan", "tanh", "tensordot", "tile", "trace", "transpose", "trapezoid",
    "tri", "tril", "tril_indices", "tril_indices_from", "trim_zeros", "triu", "triu_indices",
    "triu_indices_from", "true_divide", "trunc", "ufunc", "uint", "uint8", "uint16", "uint32",
    "uint64", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse",
    "unique_values", "unpackbits", "unravel_index", "unsignedinteger", "unstack", "unwrap",
    "vander", "var", "vdot", "vecdot", "vecmat", "vectorize", "vsplit", "vstack", "where", "zeros",
    "zeros_like",
]
# fmt: on
