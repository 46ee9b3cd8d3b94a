"""The oracle's table: for each public function of ``fgrad.numpy``, expressions that call it.

An expression names the module as ``xp`` and its operands by the capital names of `operands`; the
operand names are the arguments of the checked function. Few fixed shapes, so that JAX compiles
little; the values are random.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

OPERANDS: dict[str, tuple[str, tuple[int, ...], str]] = {
    # name: (kind of values, shape, dtype)
    "A": ("normal", (2, 3), "float64"),
    "B": ("normal", (2, 3), "float64"),
    "C": ("normal", (3,), "float64"),
    "D": ("normal", (), "float64"),
    "Q": ("positive", (), "float64"),
    "P": ("positive", (2, 3), "float64"),
    "P3": ("positive", (3,), "float64"),
    "U": ("unit", (2, 3), "float64"),
    "G": ("above one", (2, 3), "float64"),
    "V": ("normal", (5,), "float64"),
    "R": ("increasing", (5,), "float64"),
    "W": ("normal", (3, 4), "float64"),
    "A3": ("normal", (2, 3, 4), "float64"),
    "B3": ("normal", (2, 4, 2), "float64"),
    "M": ("well conditioned", (3, 3), "float64"),
    "M2": ("well conditioned", (2, 3, 3), "float64"),
    "S": ("positive definite", (3, 3), "float64"),
    "H": ("hermitian", (3, 3), "complex128"),
    "X": ("normal", (8,), "float64"),
    "Y": ("normal", (4, 6), "float64"),
    "E": ("normal", (0, 3), "float64"),
    "F": ("normal", (2, 3), "float32"),
    "F3": ("normal", (3,), "float32"),
    "FM": ("well conditioned", (3, 3), "float32"),
    "Z": ("normal", (2, 3), "complex128"),
    "Z3": ("normal", (3,), "complex128"),
    "ZU": ("unit", (3,), "complex128"),
    "ZM": ("well conditioned", (3, 3), "complex128"),
    "ZX": ("normal", (8,), "complex128"),
    "ZY": ("normal", (4, 6), "complex128"),
    "ZF": ("normal", (3,), "complex64"),
    "N": ("with nan", (2, 3), "float64"),
    "NI": ("with nan and inf", (2, 3), "float64"),
    "I": ("integers", (2, 3), "int64"),
    "I2": ("integers", (2, 3), "int64"),
    "I3": ("integers", (3,), "int64"),
    "I1": ("counts", (), "int64"),
    "IP": ("counts", (2, 3), "int64"),
    "IP3": ("counts", (3,), "int64"),
    "J": ("indices", (3,), "int64"),
    "J0": ("indices", (), "int64"),
    "JA": ("indices", (2, 3), "int64"),
    "I32": ("integers", (3,), "int32"),
    "U8": ("counts", (3,), "uint8"),
    "T": ("truth", (2, 3), "bool"),
    "T2": ("truth", (2, 3), "bool"),
    "T3": ("truth", (3,), "bool"),
}


def operand(name: str, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    kind, shape, dtype = OPERANDS[name]
    if kind == "truth":
        return np.asarray(rng.permutation(np.arange(max(int(np.prod(shape)), 1)) % 2 == 0)).reshape(
            shape
        )
    if kind in ("integers", "counts", "indices"):
        low, high = {"integers": (-4, 5), "counts": (1, 7), "indices": (0, 2)}[kind]
        return np.asarray(rng.integers(low, high, shape), dtype)
    values = rng.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.normal(size=shape)
    if kind == "positive":
        values = rng.uniform(0.4, 2.5, shape)
    elif kind == "unit":
        values = rng.uniform(-0.9, 0.9, shape)
        if dtype.startswith("complex"):
            values = values + 1j * rng.uniform(-0.9, 0.9, shape)
    elif kind == "above one":
        values = rng.uniform(1.2, 3.0, shape)
    elif kind == "increasing":
        values = np.cumsum(rng.uniform(0.3, 1.0, shape)) - 1.5
    elif kind == "well conditioned":
        values = 0.5 * values + np.diag([2.0, -3.0, 4.5])
    elif kind == "positive definite":
        values = values @ values.T + np.diag([1.0, 2.0, 4.0])
    elif kind == "hermitian":
        values = values + values.conj().T + np.diag([1.0, 4.0, 9.0])
    elif kind.startswith("with nan"):
        values.flat[1] = np.nan
        if kind.endswith("inf"):
            values.flat[3], values.flat[4] = np.inf, -np.inf
    return np.asarray(values, dtype)


def operands_of(expression: str) -> list[str]:
    """The operands that an expression names, in the order of their first use."""
    names = re.findall(r"(?<![\w.'\"])[A-Z][A-Z0-9]*\b(?!['\"=])", expression)
    return list(dict.fromkeys(name for name in names if name in OPERANDS))


def elementwise(name: str, *operands: str) -> tuple[str, ...]:
    return tuple(f"xp.{name}({operand})" for operand in operands)


# fmt: off
ROWS: dict[str, tuple[str, ...]] = {
    # ---- elementwise, one operand
    **{name: elementwise(name, "A", "D", "F") for name in (
        "fabs", "sign", "floor", "ceil", "trunc", "rint", "fix", "cbrt", "exp2", "deg2rad",
        "rad2deg", "degrees", "radians", "signbit", "spacing", "i0")},
    **{name: elementwise(name, "A", "Z3", "F", "E") for name in (
        "sin", "cos", "sinh", "cosh", "tanh", "exp", "expm1", "square", "negative", "sinc")},
    **{name: elementwise(name, "P", "ZM", "F3 * F3 + 0.5") for name in (
        "sqrt", "log", "log2", "log10", "reciprocal")},
    **{name: elementwise(name, "U", "ZU", "D / 3") for name in (
        "tan", "arcsin", "arccos", "arctan", "arcsinh", "arctanh", "asin", "acos", "atan",
        "asinh", "atanh", "log1p")},
    "arccosh": elementwise("arccosh", "G", "Z3"),
    "acosh": elementwise("acosh", "G"),
    **{name: elementwise(name, "A", "Z", "I", "D") for name in ("abs", "absolute")},
    **{name: elementwise(name, "A", "Z", "ZF", "I") for name in (
        "real", "imag", "conj", "conjugate", "positive")},
    "angle": ("xp.angle(Z)", "xp.angle(A)", "xp.angle(ZF, deg=True)"),
    **{name: elementwise(name, "NI", "A", "I", "Z3") for name in (
        "isnan", "isinf", "isfinite", "isreal", "iscomplex")},
    **{name: elementwise(name, "NI", "A") for name in ("isneginf", "isposinf")},
    "round": ("xp.round(A)", "xp.round(A, 2)", "xp.round(Z3, decimals=1)", "xp.round(I, 1)"),
    "around": ("xp.around(A)", "xp.around(A, 1)"),
    "nan_to_num": ("xp.nan_to_num(NI)", "xp.nan_to_num(NI, nan=1.5, posinf=3.0, neginf=-3.0)", "xp.nan_to_num(A)"),
    "frexp": ("xp.frexp(A)", "xp.frexp(F)", "xp.frexp(NI)", "xp.frexp(I)"),
    "modf": ("xp.modf(A)",),
    **{name: elementwise(name, "I", "T", "U8") for name in ("invert", "bitwise_not", "bitwise_invert")},
    "bitwise_count": ("xp.bitwise_count(I)", "xp.bitwise_count(U8)"),
    "logical_not": elementwise("logical_not", "T", "A", "I"),
    "astype": ("xp.astype(A, 'float32')", "xp.astype(F, 'float64')", "xp.astype(I, 'float64')", "xp.astype(A, 'int64')", "xp.astype(A, 'complex128')"),
    "copy": ("xp.copy(A)", "xp.copy(Z3)", "xp.copy(I)"),
    "unwrap": ("xp.unwrap(3.0 * A)", "xp.unwrap(4.0 * A, axis=0)", "xp.unwrap(F * 3)", "xp.unwrap(I * 2, period=5)", "xp.unwrap(I * 2, period=4)", "xp.unwrap(3.0 * A, discont=4.0, period=Q)"),
    # ---- elementwise, two operands
    **{name: (f"xp.{name}(A, B)", f"xp.{name}(A, C)", f"xp.{name}(Z, D)", f"xp.{name}(F, F3)", f"xp.{name}(I, I3)",
              f"xp.{name}(E, C)") for name in ("add", "subtract", "multiply")},
    **{name: (f"xp.{name}(A, P)", f"xp.{name}(C, P)", f"xp.{name}(Z, Q)", f"xp.{name}(F, 2.0)", f"xp.{name}(I, IP)")
       for name in ("divide", "true_divide")},
    **{name: (f"xp.{name}(A, B)", f"xp.{name}(A, D)", f"xp.{name}(F, 0.5)", f"xp.{name}(I, I2)")
       for name in ("maximum", "minimum", "fmax", "fmin")},
    **{name: (f"xp.{name}(P, B)", f"xp.{name}(Z, 3)", f"xp.{name}(A, 2)", f"xp.{name}(P, D)", f"xp.{name}(I, IP)")
       for name in ("power", "pow")},
    "float_power": ("xp.float_power(P, B)", "xp.float_power(IP, 2)"),
    **{name: (f"xp.{name}(A, P)", f"xp.{name}(A, 0.7)", f"xp.{name}(I, IP)") for name in ("mod", "remainder", "fmod")},
    "floor_divide": ("xp.floor_divide(A, P)", "xp.floor_divide(I, IP)"),
    "divmod": ("xp.divmod(A, P)", "xp.divmod(I, IP)"),
    "arctan2": ("xp.arctan2(A, B)", "xp.arctan2(A, D)", "xp.arctan2(F, 1.5)"),
    "atan2": ("xp.atan2(A, B)",),
    "hypot": ("xp.hypot(A, B)", "xp.hypot(A, D)", "xp.hypot(F, F3)"),
    "logaddexp": ("xp.logaddexp(A, B)", "xp.logaddexp(C, D)"),
    "logaddexp2": ("xp.logaddexp2(A, B)", "xp.logaddexp2(C, D)"),
    "copysign": ("xp.copysign(A, B)", "xp.copysign(C, D)"),
    "heaviside": ("xp.heaviside(A, B)", "xp.heaviside(A, 0.5)"),
    "nextafter": ("xp.nextafter(A, B)",),
    "ldexp": ("xp.ldexp(A, I)",),
    **{name: (f"xp.{name}(A, B)", f"xp.{name}(A, D)", f"xp.{name}(I, I2)", f"xp.{name}(F, 0.5)")
       for name in ("less", "less_equal", "greater", "greater_equal")},
    **{name: (f"xp.{name}(A, B)", f"xp.{name}(A, D)", f"xp.{name}(I, I2)", f"xp.{name}(Z, 0.5)")
       for name in ("equal", "not_equal")},
    **{name: (f"xp.{name}(T, T2)", f"xp.{name}(A, T)", f"xp.{name}(I, I3)")
       for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: (f"xp.{name}(I, I2)", f"xp.{name}(T, T2)", f"xp.{name}(U8, 3)")
       for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{name: (f"xp.{name}(I, IP)", f"xp.{name}(U8, 1)")
       for name in ("left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift")},
    **{name: (f"xp.{name}(I, IP)", f"xp.{name}(IP, 6)") for name in ("gcd", "lcm")},
    "isclose": ("xp.isclose(A, B)", "xp.isclose(A, A + 1e-9)", "xp.isclose(N, N, equal_nan=True)", "xp.isclose(A, A + 1e-3, rtol=1e-2, atol=0.0)"),
    "allclose": ("xp.allclose(A, B)", "xp.allclose(A, A + 1e-9)", "xp.allclose(N, N, equal_nan=True)"),
    "array_equal": ("xp.array_equal(A, B)", "xp.array_equal(A, A)", "xp.array_equal(N, N, equal_nan=True)", "xp.array_equal(A, C)"),
    "array_equiv": ("xp.array_equiv(A, B)", "xp.array_equiv(C, xp.stack([C, C]))"),
    "clip": ("xp.clip(A, -0.5, 0.7)", "xp.clip(A, D - 1, D + 1)", "xp.clip(A, max=C)", "xp.clip(I, 0, 2)", "xp.clip(F, -0.5, None)"),
    "where": ("xp.where(T, A, B)", "xp.where(T3, A, D)", "xp.where(T, Z, 0.0)", "xp.where(A > 0, F, 0.5 * F)", "xp.where(T, I, 0)"),
    "select": ("xp.select([T, T2], [A, B], D)", "xp.select([A > 0.5, A > 0], [A, 2 * A])"),
    "choose": ("xp.choose(JA, [A, B])", "xp.choose(J, [C, D])"),
    "piecewise": ("xp.piecewise(A, [A < 0, A >= 0], [lambda x: x * x, lambda x: xp.sin(x)])",),
    # ---- reductions
    "sum": ("xp.sum(A)", "xp.sum(Z, axis=0)", "xp.sum(A, axis=(0, -1), keepdims=True)", "xp.sum(I, axis=-1)", "xp.sum(F)", "xp.sum(T)",
            "xp.sum(E, axis=0)", "xp.sum(A, where=T, initial=1.5)", "xp.sum(F, dtype='float64')", "xp.sum(I32)", "xp.sum(U8)"),
    "prod": ("xp.prod(A)", "xp.prod(A, axis=-1)", "xp.prod(Z, axis=0, keepdims=True)", "xp.prod(I, axis=0)", "xp.prod(E, axis=0)", "xp.prod(A, where=T)", "xp.prod(I32)"),
    "mean": ("xp.mean(A)", "xp.mean(Z, axis=0)", "xp.mean(F, axis=-1, keepdims=True)", "xp.mean(I)", "xp.mean(T)", "xp.mean(A, axis=(0, 1))"),
    "var": ("xp.var(A)", "xp.var(Z, axis=0)", "xp.var(F, axis=-1, keepdims=True)", "xp.var(A, axis=1, ddof=1)", "xp.var(I)"),
    "std": ("xp.std(A)", "xp.std(Z, axis=0)", "xp.std(F, axis=-1, keepdims=True)", "xp.std(A, axis=1, ddof=1)"),
    **{name: (f"xp.{name}(A)", f"xp.{name}(A, axis=0)", f"xp.{name}(F, axis=-1, keepdims=True)", f"xp.{name}(I, axis=1)", f"xp.{name}(T)",
              f"xp.{name}(A, axis=0, initial=0.1)", f"xp.{name}(A, axis=(0, 1))")
       for name in ("max", "min")},
    **{name: (f"xp.{name}(A)", f"xp.{name}(A, axis=0, keepdims=True)") for name in ("amax", "amin", "ptp")},
    **{name: (f"xp.{name}(T)", f"xp.{name}(A > 0, axis=0)", f"xp.{name}(I, axis=-1, keepdims=True)") for name in ("all", "any")},
    **{name: (f"xp.{name}(A)", f"xp.{name}(A, axis=0)", f"xp.{name}(I, axis=-1, keepdims=True)", f"xp.{name}(D)") for name in ("argmax", "argmin")},
    "count_nonzero": ("xp.count_nonzero(T)", "xp.count_nonzero(I, axis=0)", "xp.count_nonzero(A, keepdims=True)"),
    "average": ("xp.average(A)", "xp.average(A, axis=1, weights=P3)", "xp.average(A, axis=0, weights=P, returned=True)"),
    "median": ("xp.median(A)", "xp.median(A, axis=1)", "xp.median(A, axis=0, keepdims=True)"),
    "quantile": ("xp.quantile(A, 0.3)", "xp.quantile(A, np.array([0.1, 0.6]), axis=1)", "xp.quantile(V, 0.4, method='lower')"),
    "percentile": ("xp.percentile(A, 30)", "xp.percentile(A, np.array([10.0, 60.0]), axis=0, keepdims=True)"),
    **{name: (f"xp.{name}(N)", f"xp.{name}(N, axis=0)", f"xp.{name}(A, axis=-1, keepdims=True)")
       for name in ("nansum", "nanmean", "nanprod", "nanmax", "nanmin", "nanmedian")},
    **{name: (f"xp.{name}(N)", f"xp.{name}(A, axis=-1, keepdims=True)", f"xp.{name}(N, axis=1, ddof=1)") for name in ("nanvar", "nanstd")},
    **{name: (f"xp.{name}(N)", f"xp.{name}(N, axis=1)") for name in ("nanargmax", "nanargmin", "nancumsum", "nancumprod")},
    "nanquantile": ("xp.nanquantile(N, 0.3)", "xp.nanquantile(N, 0.6, axis=1)"),
    "nanpercentile": ("xp.nanpercentile(N, 30)", "xp.nanpercentile(N, 60, axis=1)"),
    **{name: (f"xp.{name}(A)", f"xp.{name}(A, axis=0)", f"xp.{name}(Z, axis=-1)", f"xp.{name}(I, axis=1)", f"xp.{name}(E, axis=1)", f"xp.{name}(I32)")
       for name in ("cumsum", "cumprod")},
    **{name: (f"xp.{name}(A, axis=0)", f"xp.{name}(C, include_initial=True)") for name in ("cumulative_sum", "cumulative_prod")},
    "diff": ("xp.diff(A)", "xp.diff(A, n=2, axis=-1)", "xp.diff(A, axis=0, prepend=0.5, append=C[None])", "xp.diff(I)", "xp.diff(T)"),
    "ediff1d": ("xp.ediff1d(A)", "xp.ediff1d(C, to_begin=0.0, to_end=1.0)"),
    "gradient": ("xp.gradient(V)", "xp.gradient(W, axis=0)", "xp.gradient(V, 0.5)", "xp.gradient(V, R)"),
    "trapezoid": ("xp.trapezoid(A)", "xp.trapezoid(V, x=R)", "xp.trapezoid(A, dx=0.5, axis=0)"),
    # ---- shapes
    "reshape": ("xp.reshape(A, (3, 2))", "xp.reshape(Z, -1)", "xp.reshape(A, (3, -1), order='F')", "xp.reshape(E, (3, 0))", "xp.reshape(D, (1, 1))"),
    "ravel": ("xp.ravel(A)", "xp.ravel(A3, order='F')", "xp.ravel(D)"),
    "transpose": ("xp.transpose(A)", "xp.transpose(A3, (2, 0, 1))", "xp.transpose(A3, axes=(0, -1, 1))", "xp.transpose(I)"),
    "permute_dims": ("xp.permute_dims(A3, (2, 0, 1))",),
    "matrix_transpose": ("xp.matrix_transpose(A3)", "xp.matrix_transpose(Z)"),
    "swapaxes": ("xp.swapaxes(A3, 0, -1)", "xp.swapaxes(A, axis1=0, axis2=1)"),
    "moveaxis": ("xp.moveaxis(A3, 0, -1)", "xp.moveaxis(A3, (0, 1), (-1, 0))"),
    "rollaxis": ("xp.rollaxis(A3, 2)", "xp.rollaxis(A3, 0, 2)"),
    "expand_dims": ("xp.expand_dims(A, 0)", "xp.expand_dims(A, axis=(0, -1))", "xp.expand_dims(D, 0)"),
    "squeeze": ("xp.squeeze(A[:1])", "xp.squeeze(A[None], axis=0)", "xp.squeeze(A[None, :, None], axis=(0, -2))"),
    "broadcast_to": ("xp.broadcast_to(C, (2, 3))", "xp.broadcast_to(D, (2, 2))", "xp.broadcast_to(A, (2, 2, 3))", "xp.broadcast_to(I3, (1, 3))"),
    "broadcast_arrays": ("xp.broadcast_arrays(A, C, D)", "xp.broadcast_arrays(A, C)"),
    "atleast_1d": ("xp.atleast_1d(D)", "xp.atleast_1d(A, D)", "xp.atleast_1d(C)"),
    "atleast_2d": ("xp.atleast_2d(D)", "xp.atleast_2d(C)"),
    "atleast_3d": ("xp.atleast_3d(D)", "xp.atleast_3d(C)", "xp.atleast_3d(A)"),
    "concatenate": ("xp.concatenate([A, B])", "xp.concatenate((A, B[:, :2]), axis=-1)", "xp.concatenate([A, Z], axis=None)", "xp.concatenate([E, A])", "xp.concatenate([A, F])", "xp.concatenate([I, T])"),
    "concat": ("xp.concat([A, B])", "xp.concat([A, B], axis=1)"),
    "stack": ("xp.stack([A, B])", "xp.stack([C, C, 2 * C], axis=-1)", "xp.stack([D, D])", "xp.stack([I, I2], axis=1)"),
    "unstack": ("xp.unstack(A)", "xp.unstack(A, axis=1)"),
    "vstack": ("xp.vstack([A, C])", "xp.vstack([C, C])"),
    "hstack": ("xp.hstack([A, B])", "xp.hstack([C, C])"),
    "dstack": ("xp.dstack([A, B])", "xp.dstack([C, C])"),
    "column_stack": ("xp.column_stack([C, C])", "xp.column_stack([A, B])"),
    "block": ("xp.block([[A, B], [B, A]])", "xp.block([C, C])"),
    "append": ("xp.append(A, C)", "xp.append(A, B, axis=0)"),
    "split": ("xp.split(A, 3, axis=1)", "xp.split(V, [1, 3])", "xp.split(A, [0, 1])"),
    "array_split": ("xp.array_split(V, 3)", "xp.array_split(A, 2, axis=1)"),
    "vsplit": ("xp.vsplit(A, 2)",),
    "hsplit": ("xp.hsplit(A, 3)",),
    "dsplit": ("xp.dsplit(A3, 2)",),
    "tile": ("xp.tile(A, 2)", "xp.tile(C, (2, 1))", "xp.tile(D, 3)", "xp.tile(A, (2, 1, 2))"),
    "repeat": ("xp.repeat(A, 2)", "xp.repeat(A, 2, axis=0)", "xp.repeat(A, np.array([1, 0, 2]), axis=1, total_repeat_length=3)", "xp.repeat(D, 3)"),
    "flip": ("xp.flip(A)", "xp.flip(A, axis=0)", "xp.flip(A3, axis=(0, 2))"),
    "fliplr": ("xp.fliplr(A)",),
    "flipud": ("xp.flipud(A)",),
    "rot90": ("xp.rot90(A)", "xp.rot90(A3, k=3, axes=(0, 2))"),
    "roll": ("xp.roll(A, 1)", "xp.roll(A, -1, axis=1)", "xp.roll(A3, (1, 2), axis=(0, 2))"),
    "pad": ("xp.pad(A, 1)", "xp.pad(A, ((0, 1), (2, 0)), constant_values=1.5)", "xp.pad(V, (2, 1), mode='edge')", "xp.pad(V, (2, 1), mode='reflect')",
            "xp.pad(V, (1, 2), mode='wrap')", "xp.pad(V, (1, 2), mode='symmetric')", "xp.pad(V, (1, 1), mode='mean')", "xp.pad(V, (2, 2), mode='linear_ramp')"),
    "resize": ("xp.resize(A, (2, 2))", "xp.resize(C, (2, 4))"),
    "insert": ("xp.insert(C, 1, D)", "xp.insert(V, 1, 2.5)", "xp.insert(A, np.array([0, 2]), 0.5, axis=1)"),
    "delete": ("xp.delete(C, 1)", "xp.delete(A, np.array([0, 2]), axis=1)"),
    "trim_zeros": ("xp.trim_zeros(xp.array([0.0, 1.5, 0.0, 2.0, 0.0]))",),
    "meshgrid": ("xp.meshgrid(C, V)", "xp.meshgrid(C, V, indexing='ij')", "xp.meshgrid(C, V, sparse=True)"),
    "diag": ("xp.diag(C)", "xp.diag(M)", "xp.diag(C, k=1)", "xp.diag(W, k=-1)"),
    "diagflat": ("xp.diagflat(A)", "xp.diagflat(C, k=1)"),
    "diagonal": ("xp.diagonal(M)", "xp.diagonal(A3, offset=1, axis1=0, axis2=2)"),
    "trace": ("xp.trace(M)", "xp.trace(A3, offset=1, axis1=1, axis2=2)", "xp.trace(ZM)", "xp.trace(I)"),
    "tril": ("xp.tril(M)", "xp.tril(A3, k=1)", "xp.tril(I)"),
    "triu": ("xp.triu(M)", "xp.triu(ZM, k=-1)"),
    "fill_diagonal": ("xp.fill_diagonal(M, 2.5, inplace=False)", "xp.fill_diagonal(M, D, inplace=False)"),
    "vander": ("xp.vander(C)", "xp.vander(C, 2, increasing=True)"),
    # ---- indexing and sorting
    "take": ("xp.take(A, J, axis=0)", "xp.take(A, np.array([[0, 5], [3, 3]]))", "xp.take(A, J0, axis=-1)", "xp.take(A, np.array([0, 7]), mode='clip')", "xp.take(A, np.array([-1, 7]), axis=1, mode='wrap')", "xp.take(I, J, axis=0)"),
    "take_along_axis": ("xp.take_along_axis(A, JA, axis=0)", "xp.take_along_axis(A, JA, axis=-1)", "xp.take_along_axis(C, J, axis=None)"),
    "put": ("xp.put(A, np.array([0, 4]), D, inplace=False)", "xp.put(A, np.array([0, 4]), C[:2], inplace=False)"),
    "put_along_axis": ("xp.put_along_axis(A, JA[:, :1], D, axis=1, inplace=False)",),
    "place": ("xp.place(A, A > 0, C, inplace=False)",),
    "compress": ("xp.compress(np.array([True, False]), A, axis=0)", "xp.compress(np.array([True, False, True]), A)"),
    "extract": ("xp.extract(np.array([[True, False, True], [False, False, True]]), A)",),
    "sort": ("xp.sort(A)", "xp.sort(A, axis=0)", "xp.sort(A, axis=None)", "xp.sort(I)", "xp.sort(N)", "xp.sort(F)", "xp.sort(E)"),
    "argsort": ("xp.argsort(A)", "xp.argsort(A, axis=0)", "xp.argsort(I, axis=-1, stable=True)", "xp.argsort(A, axis=None)"),
    "sort_complex": ("xp.sort_complex(Z3)", "xp.sort_complex(C)"),
    "lexsort": ("xp.lexsort((I3, C))", "xp.lexsort((C, J))"),
    "partition": ("xp.sort(xp.partition(V, 2)[:2])", "xp.partition(V, 2)[2]"),
    "argpartition": ("xp.sort(xp.argpartition(V, 2)[:2])",),
    "searchsorted": ("xp.searchsorted(R, C)", "xp.searchsorted(R, A, side='right')", "xp.searchsorted(R, D)"),
    "digitize": ("xp.digitize(A, R)", "xp.digitize(C, R, right=True)"),
    "nonzero": ("xp.nonzero(I)", "xp.nonzero(A > 0)"),
    "flatnonzero": ("xp.flatnonzero(A > 0)",),
    "argwhere": ("xp.argwhere(A > 0)",),
    "unique": ("xp.unique(I)", "xp.unique(A)", "xp.unique(I, return_inverse=True, return_counts=True)", "xp.unique(I, axis=0)", "xp.unique(I, return_index=True)"),
    "unique_all": ("xp.unique_all(I)",),
    "unique_counts": ("xp.unique_counts(I)",),
    "unique_inverse": ("xp.unique_inverse(I)",),
    "unique_values": ("xp.sort(xp.unique_values(I))",),
    "isin": ("xp.isin(I, I3)", "xp.isin(I, I3, invert=True)"),
    "intersect1d": ("xp.intersect1d(I, I3)",),
    "union1d": ("xp.union1d(I, I3)",),
    "setdiff1d": ("xp.setdiff1d(I, I3)",),
    "setxor1d": ("xp.setxor1d(I, I3)",),
    "bincount": ("xp.bincount(IP3)", "xp.bincount(J, weights=C, minlength=4, length=4)", "xp.bincount(IP3, length=8)"),
    "histogram": ("xp.histogram(A, bins=4, range=(-3.0, 3.0))", "xp.histogram(A, bins=R)", "xp.histogram(A, bins=4, range=(-3.0, 3.0), density=True)", "xp.histogram(A, bins=4, range=(-3.0, 3.0), weights=P)"),
    "histogram_bin_edges": ("xp.histogram_bin_edges(A, bins=4)", "xp.histogram_bin_edges(A, bins=4, range=(-3.0, 3.0))"),
    "histogram2d": ("xp.histogram2d(C, P3, bins=2, range=[[-3.0, 3.0], [0.0, 3.0]])",),
    "histogramdd": ("xp.histogramdd(A, bins=2, range=[[-3.0, 3.0]] * 3)",),
    "unravel_index": ("xp.unravel_index(J, (2, 3))", "xp.unravel_index(J0, (3, 2))"),
    "ravel_multi_index": ("xp.ravel_multi_index((J, J), (2, 3))", "xp.ravel_multi_index((J, 5 * J), (2, 3), mode='clip')"),
    "packbits": ("xp.packbits(T)", "xp.packbits(I, axis=1)", "xp.packbits(T, axis=0, bitorder='little')"),
    "unpackbits": ("xp.unpackbits(U8)", "xp.unpackbits(U8[None], axis=-1, count=11)", "xp.unpackbits(U8, count=-5)", "xp.unpackbits(U8, count=40)", "xp.unpackbits(U8, bitorder='little')"),
    # ---- contractions
    "dot": ("xp.dot(A, C)", "xp.dot(A, W)", "xp.dot(C, C)", "xp.dot(D, A)", "xp.dot(Z, Z3)", "xp.dot(F, F3)", "xp.dot(A3, B3[0])", "xp.dot(I, I3)"),
    "matmul": ("xp.matmul(A, W)", "xp.matmul(A3, B3)", "xp.matmul(C, W)", "xp.matmul(A, C)", "xp.matmul(C, C)", "xp.matmul(Z, ZM)", "xp.matmul(F, FM)", "xp.matmul(M2, W)", "xp.matmul(E, W)", "xp.matmul(I, I3)"),
    "vdot": ("xp.vdot(A, B)", "xp.vdot(Z, Z)", "xp.vdot(C, Z3)"),
    "inner": ("xp.inner(A, C)", "xp.inner(A, B)", "xp.inner(Z3, Z)", "xp.inner(D, A)"),
    "outer": ("xp.outer(C, V)", "xp.outer(A, C)", "xp.outer(Z3, C)", "xp.outer(I3, I3)"),
    "tensordot": ("xp.tensordot(A, W, axes=1)", "xp.tensordot(A3, A, axes=([0, 1], [0, 1]))", "xp.tensordot(A, A)", "xp.tensordot(C, V, axes=0)", "xp.tensordot(Z, Z, axes=((0,), (0,)))"),
    "einsum": ("xp.einsum('ij,jk->ik', A, W)", "xp.einsum('bij,bjk->bik', A3, B3)", "xp.einsum('ii->i', M)", "xp.einsum('ij,kj', A, B)", "xp.einsum('...i,i->...', A, C)",
               "xp.einsum('ij,jk,k->i', A, M, C)", "xp.einsum('i,i', Z3, Z3)", "xp.einsum('ij->', A)", "xp.einsum('ij->ji', A)", "xp.einsum(A, [0, 1], W, [1, 2], [0, 2])", "xp.einsum('ii', M)", "xp.einsum('ij,ij->ij', I, I2)"),
    "vecdot": ("xp.vecdot(A, B)", "xp.vecdot(Z, Z3)", "xp.vecdot(A, B, axis=0)"),
    "matvec": ("xp.matvec(A, C)", "xp.matvec(M2, C)"),
    "vecmat": ("xp.vecmat(C, W)", "xp.vecmat(Z3, ZM)"),
    "kron": ("xp.kron(A, C)", "xp.kron(A, B)", "xp.kron(C, C)"),
    "cross": ("xp.cross(A, B)", "xp.cross(C, A)", "xp.cross(Z3, C)"),
    "convolve": ("xp.convolve(V, C)", "xp.convolve(V, C, mode='same')", "xp.convolve(V, C, mode='valid')", "xp.convolve(C, V, mode='same')"),
    "correlate": ("xp.correlate(V, C)", "xp.correlate(V, C, mode='full')", "xp.correlate(V, Z3, mode='same')"),
    "cov": ("xp.cov(A)", "xp.cov(A, rowvar=False)", "xp.cov(A, bias=True)", "xp.cov(C, V[:3])", "xp.cov(I, dtype=np.float32)"),
    "corrcoef": ("xp.corrcoef(A)", "xp.corrcoef(C, V[:3])", "xp.corrcoef(I, dtype=np.float32)"),
    "interp": ("xp.interp(C, R, V)", "xp.interp(A, R, V, left=-5.0, right=5.0)", "xp.interp(D, R, V)", "xp.interp(C, R, V, period=4.0)"),
    # ---- polynomials
    "poly": ("xp.poly(C)", "xp.poly(S)", "xp.poly(M)", "xp.poly(Z3)", "xp.poly(F3)", "xp.poly(I3)"),
    "polyval": ("xp.polyval(C, A)", "xp.polyval(V, D)"),
    "polyadd": ("xp.polyadd(C, V)", "xp.polyadd(D, F3)", "xp.polyadd(Z3, I3)"),
    "polysub": ("xp.polysub(C, V)", "xp.polysub(V, F3)"),
    "polymul": ("xp.polymul(C, V)", "xp.polymul(D, F3)", "xp.polymul(I3, Z3)"),
    "polydiv": ("xp.polydiv(V, P3)", "xp.polydiv(P3, V)", "xp.polydiv(V, Q)", "xp.polydiv(Z3, P3[:2])"),
    "polyder": ("xp.polyder(V)", "xp.polyder(V, m=2)", "xp.polyder(F3)", "xp.polyder(C, m=5)"),
    "polyint": ("xp.polyint(C)", "xp.polyint(C, m=2, k=[0.5, 1.5])", "xp.polyint(C, m=3, k=D)", "xp.polyint(F3)"),
    "polyfit": ("xp.polyfit(R, V, 2)", "xp.polyfit(R, V, 1, w=R + 2.0)", "xp.polyfit(R, xp.stack([V, V * V], 1), 2)", "xp.polyfit(R, V, 1, cov=True)", "xp.polyfit(R, V, 1, cov='unscaled')", "xp.polyfit(R, V, 2, full=True)[:2]", "xp.polyfit(R, V, 2, full=True)[3]"),
    "roots": ("xp.sort_complex(xp.roots(P3, strip_zeros=False))", "xp.sort_complex(xp.roots(P3))", "xp.sort_complex(xp.roots([0.0, 1.0, D, -1.0, 0.0]))"),
    # ---- creation
    "array": ("xp.array(A)", "xp.array([D, 2.0 * D])", "xp.array([1.0, 2.5])", "xp.array([[1, 2], [3, 4]])", "xp.array(A, dtype='float32')", "xp.array([[D, 1.0], [0.0, D]])", "xp.array(A, ndmin=3)", "xp.array([True, False])"),
    "asarray": ("xp.asarray(A)", "xp.asarray([D, 2.0 * D])", "xp.asarray((1, 2.5))", "xp.asarray(F, dtype='float64')", "xp.asarray(3)", "xp.asarray([C, 2 * C])"),
    "zeros": ("xp.zeros((2, 3))", "xp.zeros(3, dtype='int32')", "xp.zeros(())"),
    "ones": ("xp.ones((2, 3))", "xp.ones(3, 'float32')", "xp.ones((0, 2))"),
    "empty": ("xp.empty((2, 3)) * 0.0 == 0.0", "xp.shape(xp.empty(3, 'float32'))"),
    "full": ("xp.full((2, 3), 1.5)", "xp.full(3, D)", "xp.full((2, 3), C)", "xp.full(2, 3, dtype='float32')"),
    "zeros_like": ("xp.zeros_like(A)", "xp.zeros_like(F)", "xp.zeros_like(A, dtype='int32')", "xp.zeros_like(A, shape=(2,))", "xp.zeros_like(I)"),
    "ones_like": ("xp.ones_like(A)", "xp.ones_like(F)", "xp.ones_like(A, dtype='complex128')", "xp.ones_like(T)"),
    "empty_like": ("xp.shape(xp.empty_like(A))", "xp.shape(xp.empty_like(A, shape=(3,)))"),
    "full_like": ("xp.full_like(A, 2.5)", "xp.full_like(I, 3)", "xp.full_like(A, D)", "xp.full_like(F, 1)"),
    "arange": ("xp.arange(4)", "xp.arange(1, 7, 2)", "xp.arange(0.0, 1.0, 0.25)", "xp.arange(3, dtype='float32')", "xp.arange(5.0)", "xp.arange(5, 1, -1)"),
    "linspace": ("xp.linspace(0.0, 1.0, 5)", "xp.linspace(D, 2.0, 4)", "xp.linspace(C, D, 3, axis=-1)", "xp.linspace(0, 1, 4, endpoint=False)", "xp.linspace(0, 5, 3, dtype='int64')", "xp.linspace(0.0, 1.0, 3, retstep=True)"),
    "logspace": ("xp.logspace(0.0, 1.0, 4)", "xp.logspace(D, 1.5, 3, base=2.0)"),
    "geomspace": ("xp.geomspace(1.0, 8.0, 4)", "xp.geomspace(Q, 8.0, 3)"),
    "eye": ("xp.eye(3)", "xp.eye(2, 4, k=1)", "xp.eye(3, dtype='float32')"),
    "identity": ("xp.identity(3)", "xp.identity(2, dtype='int32')"),
    "tri": ("xp.tri(3)", "xp.tri(2, 4, k=1, dtype='float32')"),
    "indices": ("xp.indices((2, 3))", "xp.indices((2, 3), sparse=True)"),
    "diag_indices": ("xp.diag_indices(3)", "xp.diag_indices(2, ndim=3)"),
    "diag_indices_from": ("xp.diag_indices_from(M)",),
    "tril_indices": ("xp.tril_indices(3)", "xp.tril_indices(3, k=-1, m=4)"),
    "triu_indices": ("xp.triu_indices(3)", "xp.triu_indices(3, k=1, m=4)"),
    "tril_indices_from": ("xp.tril_indices_from(M)",),
    "triu_indices_from": ("xp.triu_indices_from(M, k=1)",),
    "mask_indices": ("xp.mask_indices(3, xp.triu)",),
    "ix_": ("xp.ix_(J, I3)",),
    "mgrid": ("xp.mgrid[0:3]", "xp.mgrid[0:2, 1:4]", "xp.mgrid[0:1:3j]"),
    "ogrid": ("xp.ogrid[0:2, 1:4]",),
    "r_": ("xp.r_[C, 1.5, D]", "xp.r_[0:4]"),
    "c_": ("xp.c_[C, C]",),
    "s_": ("xp.asarray(A)[xp.s_[0, 1:]]",),
    "index_exp": ("xp.asarray(A)[xp.index_exp[..., 0]]",),
    "fromfunction": ("xp.fromfunction(lambda i, j: i + 2.0 * j, (2, 3))",),
    "frombuffer": ("xp.frombuffer(b'\\x01\\x02\\x03', dtype='uint8')",),
    "bartlett": ("xp.bartlett(5)",), "blackman": ("xp.blackman(5)",), "hamming": ("xp.hamming(5)",),
    "hanning": ("xp.hanning(5)",), "kaiser": ("xp.kaiser(5, 3.0)", "xp.kaiser(6, D)", "xp.kaiser(1, 3.0)", "xp.kaiser(0, 3.0)"),
    # ---- higher-order
    "vectorize": ("xp.vectorize(lambda x, y: x * y + 1.0)(A, C)", "xp.vectorize(lambda x: xp.sum(x * x), signature='(n)->()')(A)"),
    "apply_along_axis": ("xp.apply_along_axis(lambda x: xp.sum(x * x), 1, A)", "xp.apply_along_axis(lambda x: x[::-1] * 2.0, 0, A)"),
    "apply_over_axes": ("xp.apply_over_axes(xp.sum, A3, [0, 2])",),
    # ---- linear algebra
    "linalg.norm": ("xp.linalg.norm(A)", "xp.linalg.norm(C)", "xp.linalg.norm(A, axis=1)", "xp.linalg.norm(A, axis=0, keepdims=True)", "xp.linalg.norm(A, ord=1, axis=1)", "xp.linalg.norm(C, ord=3)",
                    "xp.linalg.norm(A, ord='fro')", "xp.linalg.norm(C, ord=np.inf)", "xp.linalg.norm(Z3)", "xp.linalg.norm(M, ord=2)", "xp.linalg.norm(M, ord='nuc')", "xp.linalg.norm(F)"),
    "linalg.vector_norm": ("xp.linalg.vector_norm(A)", "xp.linalg.vector_norm(A, axis=1, ord=3)"),
    "linalg.matrix_norm": ("xp.linalg.matrix_norm(M)", "xp.linalg.matrix_norm(M2, ord=1)", "xp.linalg.matrix_norm(M, ord=2, keepdims=True)"),
    "linalg.inv": ("xp.linalg.inv(M)", "xp.linalg.inv(M2)", "xp.linalg.inv(ZM)", "xp.linalg.inv(FM)"),
    "linalg.solve": ("xp.linalg.solve(M, C)", "xp.linalg.solve(M, W)", "xp.linalg.solve(ZM, Z3)", "xp.linalg.solve(M2, W)"),
    "linalg.det": ("xp.linalg.det(M)", "xp.linalg.det(M2)", "xp.linalg.det(ZM)", "xp.linalg.det(FM)"),
    "linalg.slogdet": ("xp.linalg.slogdet(M)", "xp.linalg.slogdet(M2)", "xp.linalg.slogdet(ZM)"),
    "linalg.cholesky": ("xp.linalg.cholesky((S + S.T) / 2)", "xp.linalg.cholesky((H @ H + xp.conj(H @ H).T) / 2)"),
    "linalg.qr": ("xp.abs(xp.linalg.qr(W.T)[1])", "xp.abs(xp.linalg.qr(M)[0])", "xp.abs(xp.linalg.qr(M, mode='r'))"),
    "linalg.eigh": ("xp.linalg.eigh((S + S.T) / 2)[0]", "xp.abs(xp.linalg.eigh((S + S.T) / 2)[1])", "xp.linalg.eigh((H + xp.conj(H.T)) / 2)[0]", "xp.abs(xp.linalg.eigh((H + xp.conj(H.T)) / 2)[1])"),
    "linalg.eigvalsh": ("xp.linalg.eigvalsh((S + S.T) / 2)", "xp.linalg.eigvalsh((H + xp.conj(H.T)) / 2)"),
    "linalg.eig": ("xp.sort_complex(xp.linalg.eig(M)[0])",),
    "linalg.eigvals": ("xp.sort_complex(xp.linalg.eigvals(M))", "xp.sort_complex(xp.linalg.eigvals(ZM))"),
    "linalg.svd": ("xp.abs(xp.linalg.svd(W, full_matrices=False)[0])", "xp.linalg.svd(W, compute_uv=False)", "xp.linalg.svd(Z, full_matrices=False)[1]", "xp.abs(xp.linalg.svd(A, full_matrices=False)[2])"),
    "linalg.svdvals": ("xp.linalg.svdvals(A)", "xp.linalg.svdvals(M2)"),
    "linalg.pinv": ("xp.linalg.pinv(W)", "xp.linalg.pinv(M)", "xp.linalg.pinv(Z)"),
    "linalg.lstsq": ("xp.linalg.lstsq(W.T, xp.concatenate([C, D[None]]))[0]",),
    "linalg.matrix_power": ("xp.linalg.matrix_power(M, 3)", "xp.linalg.matrix_power(M, 0)", "xp.linalg.matrix_power(M, -2)", "xp.linalg.matrix_power(M2, 2)"),
    "linalg.matrix_rank": ("xp.linalg.matrix_rank(M)", "xp.linalg.matrix_rank(xp.outer(C, C))"),
    "linalg.cond": ("xp.linalg.cond(M)", "xp.linalg.cond(M, p=1)"),
    "linalg.multi_dot": ("xp.linalg.multi_dot([A, W, W.T])",),
    "linalg.tensorinv": ("xp.linalg.tensorinv(xp.reshape(xp.eye(6) * 2.0 + A[0, 0], (2, 3, 6)), ind=2)",),
    "linalg.tensorsolve": ("xp.linalg.tensorsolve(xp.reshape(xp.eye(6) * 2.0 + A[0, 0], (2, 3, 6)), B)",),
    "linalg.cross": ("xp.linalg.cross(A, B)",),
    "linalg.diagonal": ("xp.linalg.diagonal(M)", "xp.linalg.diagonal(A3, offset=1)"),
    "linalg.trace": ("xp.linalg.trace(M)", "xp.linalg.trace(A3, offset=1)"),
    "linalg.matmul": ("xp.linalg.matmul(A, W)",),
    "linalg.outer": ("xp.linalg.outer(C, V)",),
    "linalg.vecdot": ("xp.linalg.vecdot(Z, Z3)", "xp.linalg.vecdot(A, B, axis=0)"),
    "linalg.tensordot": ("xp.linalg.tensordot(A, W, axes=1)",),
    "linalg.matrix_transpose": ("xp.linalg.matrix_transpose(A3)",),
    # ---- Fourier transforms
    **{f"fft.{name}": (f"xp.fft.{name}(X)", f"xp.fft.{name}(ZX)", f"xp.fft.{name}(Y, axis=0, norm='ortho')", f"xp.fft.{name}(X, n=6)") for name in ("fft", "ifft")},
    "fft.rfft": ("xp.fft.rfft(X)", "xp.fft.rfft(Y, axis=0, norm='forward')", "xp.fft.rfft(X, n=5)"),
    "fft.irfft": ("xp.fft.irfft(ZX)", "xp.fft.irfft(ZX, n=9)", "xp.fft.irfft(ZY, axis=0, norm='ortho')"),
    **{f"fft.{name}": (f"xp.fft.{name}(Y)", f"xp.fft.{name}(ZY, norm='ortho')") for name in ("fft2", "ifft2", "fftn", "ifftn")},
    **{f"fft.{name}": (f"xp.fft.{name}(Y)", f"xp.fft.{name}(Y, norm='ortho')") for name in ("rfft2", "rfftn")},
    **{f"fft.{name}": (f"xp.fft.{name}(ZY)", f"xp.fft.{name}(ZY, norm='ortho')") for name in ("irfft2", "irfftn")},
    "fft.hfft": ("xp.fft.hfft(ZX)", "xp.fft.hfft(ZX, n=9)"),
    "fft.ihfft": ("xp.fft.ihfft(X)",),
    "fft.fftfreq": ("xp.fft.fftfreq(8)", "xp.fft.fftfreq(7, d=0.5)"),
    "fft.rfftfreq": ("xp.fft.rfftfreq(8)", "xp.fft.rfftfreq(7, d=0.5)"),
    "fft.fftshift": ("xp.fft.fftshift(X)", "xp.fft.fftshift(Y, axes=1)"),
    "fft.ifftshift": ("xp.fft.ifftshift(V)", "xp.fft.ifftshift(Y, axes=(0,))"),
    # ---- NumPy's other ways to take arrays in
    "asanyarray": ("xp.asanyarray(A)", "xp.asanyarray([D, 2 * D], dtype='float32')"),
    "ascontiguousarray": ("xp.ascontiguousarray(A)", "xp.ascontiguousarray(D)"),
    "asfortranarray": ("xp.asfortranarray(A)",),
    "asarray_chkfinite": ("xp.asarray_chkfinite(A)", "xp.asarray_chkfinite(I)"),
    "require": ("xp.require(A, 'float32', ['C'])",),
    "real_if_close": ("xp.real_if_close(A)", "xp.real_if_close(Z3)", "xp.real_if_close(C + 0j)"),
    "copyto": ("xp.copyto(A, C, inplace=False)", "xp.copyto(A, D, where=T, inplace=False)", "xp.copyto(F, 2, inplace=False)", "xp.copyto(Z, C, where=T3, inplace=False)"),
    "putmask": ("xp.putmask(A, T, V, inplace=False)", "xp.putmask(A, T, D, inplace=False)", "xp.putmask(F, I, F3, inplace=False)"),
    "common_type": ("xp.common_type(A, F).__name__", "xp.common_type(F3, ZF).__name__"),
    "min_scalar_type": ("str(xp.min_scalar_type(A))", "str(xp.min_scalar_type(300))"),
    # ---- questions about types and shapes
    "shape": ("xp.shape(A)", "xp.shape(D)", "xp.shape(3.0)"),
    "ndim": ("xp.ndim(A)", "xp.ndim(2)"),
    "size": ("xp.size(A)", "xp.size(A, 1)"),
    "isscalar": ("xp.isscalar(3.0)", "xp.isscalar('a')"),
    "iscomplexobj": ("xp.iscomplexobj(Z)", "xp.iscomplexobj(A)"),
    "isrealobj": ("xp.isrealobj(Z)", "xp.isrealobj(A)"),
    "iterable": ("xp.iterable(A)", "xp.iterable(3.0)"),
    "result_type": ("str(xp.result_type(A, F))", "str(xp.result_type('float32', 'int64'))", "str(xp.result_type(F, 2.0))", "str(xp.result_type('int8', 'uint8'))"),
    "promote_types": ("str(xp.promote_types('float32', 'int64'))", "str(xp.promote_types('int32', 'complex64'))"),
    "can_cast": ("xp.can_cast('int32', 'float64')", "xp.can_cast('float64', 'int32')"),
    "issubdtype": ("xp.issubdtype('float32', xp.floating)", "xp.issubdtype('int8', xp.inexact)"),
    "isdtype": ("xp.isdtype(np.dtype('float32'), 'real floating')", "xp.isdtype(np.dtype('int8'), ('bool', 'integral'))"),
    "broadcast_shapes": ("xp.broadcast_shapes((2, 1), (3,))",),
    "einsum_path": ("xp.einsum_path('ij,jk->ik', A, W)[0][-1]",),
    "array_repr": ("isinstance(xp.array_repr(A), str)",), "array_str": ("isinstance(xp.array_str(A), str)",),
}
# fmt: on

WHOLE_NUMBERS = "its results are integers, booleans or strings"
NO_OPERANDS = "it has no inexact operand"
NUMBERS_OF_SHAPE = "its results depend on shapes and dtypes only"

# The names without a derivative, and the mathematical reason; a name outside must show one.
NOT_DIFFERENTIABLE: dict[str, str] = {
    **dict.fromkeys(
        "isnan isinf isfinite isreal iscomplex isneginf isposinf signbit logical_not invert "
        "bitwise_not bitwise_invert bitwise_count less less_equal greater greater_equal equal "
        "not_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor "
        "left_shift right_shift bitwise_left_shift bitwise_right_shift gcd lcm isclose allclose "
        "array_equal array_equiv all any argmax argmin count_nonzero nanargmax nanargmin argsort "
        "lexsort argpartition searchsorted digitize nonzero flatnonzero argwhere isin "
        "unravel_index ravel_multi_index packbits unpackbits linalg.matrix_rank intersect1d "
        "union1d setdiff1d setxor1d unique_all unique_counts unique_inverse unique_values "
        "einsum_path array_repr array_str".split(),
        WHOLE_NUMBERS,
    ),
    **dict.fromkeys(
        "zeros ones eye identity tri arange indices diag_indices tril_indices triu_indices "
        "mask_indices mgrid ogrid ix_ fromfunction frombuffer bartlett blackman hamming hanning "
        "fft.fftfreq fft.rfftfreq trim_zeros empty".split(),
        NO_OPERANDS,
    ),
    **dict.fromkeys(
        "empty_like diag_indices_from tril_indices_from triu_indices_from "
        "shape ndim size isscalar iscomplexobj isrealobj iterable result_type "
        "promote_types can_cast issubdtype isdtype broadcast_shapes common_type "
        "min_scalar_type".split(),
        NUMBERS_OF_SHAPE,
    ),
    "nextafter": "neighbouring floats are a property of the format, not of the number",
    "spacing": "the distance of floats is a property of the format, not of the number",
}

# Names and expressions whose result needs values: its shape depends on them, or it is their text.
# No trace without values can have it, so `jit` and `vmap` do not apply.
NEEDS_VALUES = frozenset(
    "nonzero flatnonzero argwhere unique unique_all unique_counts unique_inverse unique_values "
    "intersect1d union1d setdiff1d setxor1d trim_zeros array_repr array_str asarray_chkfinite".split()
) | {
    "xp.real_if_close(Z3)",
    "xp.real_if_close(C + 0j)",
    "xp.bincount(IP3)",
    "xp.sort_complex(xp.roots(P3))",
    "xp.sort_complex(xp.roots([0.0, 1.0, D, -1.0, 0.0]))",
}

# Public names that are no functions of arrays: types, constants, and the printing and files of NumPy.
NO_ROW = frozenset(
    "load save savez fromfile fromstring fromiter from_dlpack get_printoptions set_printoptions "
    "printoptions array2string frompyfunc dtype finfo iinfo ndindex ndenumerate savez_compressed "
    "savetxt loadtxt genfromtxt".split()
)
