"""What generated programs call; the source of this file heads every printed reproduction."""

import numpy as np

K2 = np.array([0.5, -1.25])
K3 = np.array([0.75, 1.5, -0.25])


def make(rng, shape, dtype):
    """A random argument: floats away from zero on average, integers and masks of both values."""
    if dtype in ("int64", "bool"):
        return rng.integers(0, 2, shape).astype(dtype)
    values = rng.uniform(-1.5, 1.5, shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.uniform(-1.5, 1.5, shape)
    return np.asarray(values, dtype)[()] if shape == () else values.astype(dtype)


def is_inexact(leaf):
    return np.dtype(getattr(leaf, "dtype", type(leaf))).kind in "fc"


def inexact_leaves(lib, tree):
    return [leaf for leaf in lib.tree_util.tree_leaves(tree) if is_inexact(leaf)]


def scalar(lib, xp, tree):
    """A bounded real scalar that depends on every inexact leaf, nonlinearly."""
    total = 0.0
    for leaf in inexact_leaves(lib, tree):
        total = total + xp.sum(xp.sin(0.5 * xp.real(leaf) + 0.25 * xp.imag(leaf) + 0.1))
    return total


def pull(lib, function, *args):
    """The vjp at a cotangent that depends on the result, hence on everything outside."""
    result, pullback = lib.vjp(function, *args)
    return pullback(lib.tree_util.tree_map(lambda y: 0.5 * y + 0.25, result))


def over(function, args, moving):
    """``function`` of the arguments at the places ``moving`` only, the others closed over."""

    def moved(*new):
        full = list(args)
        for place, value in zip(moving, new, strict=True):
            full[place] = value
        return function(*full)

    return moved, [args[place] for place in moving]


def grad(lib, xp, function, moving, form):
    def transformed(*args):
        def loss(*inner):
            return scalar(lib, xp, function(*inner))

        if form == "value_and_grad":
            return lib.value_and_grad(loss, argnums=moving)(*args)
        if form == "has_aux":

            def with_aux(*inner):
                result = function(*inner)
                return scalar(lib, xp, result), result

            return lib.grad(with_aux, argnums=moving, has_aux=True)(*args)
        return lib.grad(loss, argnums=moving if len(moving) > 1 else moving[0])(*args)

    return transformed


def jvp(lib, xp, function, moving, form):
    def transformed(*args):
        moved, primals = over(function, args, moving)
        tangents = lib.tree_util.tree_map(lambda x: 0.5 * x + 0.25, primals)
        if form == "linearize":
            result, push = lib.linearize(lambda *a: inexact_leaves(lib, moved(*a)), *primals)
            return result, push(*tangents)
        return lib.jvp(lambda *a: inexact_leaves(lib, moved(*a)), tuple(primals), tuple(tangents))

    return transformed


def vjp(lib, xp, function, moving, form):
    def transformed(*args):
        moved, primals = over(function, args, moving)
        result, pullback = lib.vjp(lambda *a: inexact_leaves(lib, moved(*a)), *primals)
        return result, pullback([0.5 * y + 0.25 for y in result])

    return transformed


def vmap(lib, xp, function, moving, form):
    in_axis, out_axis = form

    def two_rows(x):
        kind = np.dtype(x.dtype).kind
        other = ~x if kind == "b" else 1 - x if kind == "i" else 0.75 * x + 0.125
        return xp.stack([x, other], axis=in_axis)

    def transformed(*args):
        in_axes = tuple(in_axis if n in moving else None for n in range(len(args)))
        args = list(args)
        for n in moving:
            args[n] = lib.tree_util.tree_map(two_rows, args[n])
        return lib.vmap(function, in_axes=in_axes, out_axes=out_axis)(*args)

    return transformed


def jit(lib, xp, function, moving, form):
    return lib.checkpoint(function) if form == "checkpoint" else lib.jit(function)
