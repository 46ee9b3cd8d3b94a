"""Gradients of matrix products: each is again a product, of the shape of its operand.

    python examples/textbook_products.py

For y = x W and a cotangent gy of the shape of y, the cotangent of x is `gy @ W.T` and that of W is
`x.T @ gy`. The program shows it for a vector and for a batch of rows, for the four ways in which
the two operands may be transposed, and for complex operands (where derivatives follow the
convention that nothing is conjugated). Each gradient is also checked by central differences.
"""

import numpy as np

import fgrad

N, D, H = 5, 4, 3
STEP = 1e-5


def draw(rng, shape, dtype):
    values = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def transposed(matrix, flag):
    return matrix.T if flag else matrix


def pull_back(function, operands, gy):
    """The value of the function and the cotangents of its operands."""
    value, pullback = fgrad.vjp(function, *operands)
    return value, pullback(gy)


def differences(function, operands, gy):
    """The cotangents of the operands by central differences of sum(gy * function(...)).

    The function is complex-differentiable, so a step along the real axis is enough.
    """
    cotangents = []
    for position, operand in enumerate(operands):
        cotangent = np.zeros_like(operand)
        for index in np.ndindex(operand.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = [np.array(o) for o in operands]
                moved[position][index] += step
                ends.append(np.sum(gy * function(*moved)))
            cotangent[index] = (ends[0] - ends[1]) / (2 * STEP)
        cotangents.append(cotangent)
    return cotangents


def check(name, function, operands, gy, closed_forms):
    """Compare with the closed forms and with differences; return the largest two errors."""
    value, cotangents = pull_back(function, operands, gy)
    np.testing.assert_allclose(value, function(*operands), rtol=1e-12)
    numeric = differences(function, operands, gy)
    errors = np.zeros(2)
    for operand, cotangent, closed, difference in zip(
        operands, cotangents, closed_forms, numeric, strict=True
    ):
        assert cotangent.shape == operand.shape
        assert cotangent.dtype == operand.dtype
        errors[0] = max(errors[0], np.abs(cotangent - closed).max())
        errors[1] = max(errors[1], np.abs(cotangent - difference).max())
    assert errors[0] < 1e-13, f"{name}: off the closed form by {errors[0]}"
    assert errors[1] < 1e-8, f"{name}: off the differences by {errors[1]}"
    shapes = " and ".join(str(c.shape) for c in cotangents)
    print(f"  {name:<44} {shapes:<18} {errors[0]:8.1e} {errors[1]:8.1e}")
    return errors


def main():
    rng = np.random.default_rng(0)
    columns = "cotangents          closed   by differences"
    worst = np.zeros(2)
    for dtype in (np.float64, np.complex128):
        print(f"{np.dtype(dtype).name + ': product':<46} {columns}")

        for rows in (1, N):
            x, w, gy = (draw(rng, s, dtype) for s in [(rows, D), (D, H), (rows, H)])
            name = f"x W, x of {x.shape}, W of {w.shape}"
            closed_forms = (gy @ w.T, x.T @ gy)
            worst = np.maximum(worst, check(name, lambda x, w: x @ w, (x, w), gy, closed_forms))

        # op(a) @ op(b) with op either the identity or the transpose: the two products of each case.
        closed_forms_of = {
            (False, False): lambda a, b, g: (g @ b.T, a.T @ g),
            (False, True): lambda a, b, g: (g @ b, g.T @ a),
            (True, False): lambda a, b, g: (b @ g.T, a @ g),
            (True, True): lambda a, b, g: (b.T @ g.T, g.T @ a.T),
        }
        for (left, right), closed_form in closed_forms_of.items():
            a = draw(rng, (D, N) if left else (N, D), dtype)
            b = draw(rng, (H, D) if right else (D, H), dtype)
            gy = draw(rng, (N, H), dtype)

            def product(a, b, left=left, right=right):
                return transposed(a, left) @ transposed(b, right)

            name = f"a{'.T' if left else ''} @ b{'.T' if right else ''}"
            worst = np.maximum(worst, check(name, product, (a, b), gy, closed_form(a, b, gy)))
    print(f"\nlargest error against the closed forms {worst[0]:.1e}, by differences {worst[1]:.1e}")


if __name__ == "__main__":
    main()
