"""Every exception that fgrad raises on purpose.

Each class derives from the built-in exception that fits, so that ``except TypeError`` and its kin
keep working; ``except fgrad.errors.FgradError`` catches them all. A message names the function, the
argument and the line of the user's code. Frames of fgrad are left out of tracebacks, unless
``fgrad.config.update("fgrad_traceback_filtering", "off")`` keeps them.

The docstring of each class has a program that raises it and the program that was meant. All of them
start with::

    import functools

    import numpy as np
    import fgrad
    import fgrad.numpy as fnp
"""

from __future__ import annotations

from fgrad.missing_names import NameOfNamespace


class FgradError(Exception):
    """Base of every error in this module."""


# ---- arguments -------------------------------------------------------------------------------


class ShapeError(FgradError, ValueError):
    """Shapes that do not fit together.

    Raised where NumPy raises a ValueError about shapes: operands that do not broadcast, products
    whose paired axes differ in size, a reshape to another number of elements. The message has the
    shapes of all operands.

    Wrong::

        fnp.ones((2, 3)) @ fnp.ones((4, 5))

    Right::

        fnp.ones((2, 3)) @ fnp.ones((3, 5))
    """


class DTypeError(FgradError, TypeError):
    """A dtype that the operation does not accept, or that fgrad does not compute with.

    Wrong::

        fnp.bitwise_and(fnp.array([1.0, 2.0]), 1)

    Right::

        fnp.bitwise_and(fnp.array([1, 2]), 1)
    """


class AxisError(FgradError, ValueError, IndexError):
    """An axis that the array does not have, or one given twice.

    Wrong::

        fnp.sum(fnp.ones((2, 3)), axis=2)

    Right::

        fnp.sum(fnp.ones((2, 3)), axis=1)
    """


class IndexOutOfRangeError(FgradError, IndexError):
    """An index outside of its axis, too many indices, or a mask of another shape.

    As in NumPy, and unlike in JAX, ``x[i]`` and ``take`` refuse an index that is out of range, in
    compiled functions too. ``x.at[...]`` and an explicit ``mode`` follow JAX.

    Wrong::

        fnp.arange(3)[3]

    Right::

        fnp.arange(3)[2], fnp.arange(3)[-1], fnp.take(fnp.arange(3), 3, mode="clip")
    """


class IndexTypeError(FgradError, TypeError, IndexError):
    """Something that cannot be an index.

    Indices are integers, slices, None, ``...``, integer arrays and boolean masks. The bounds of a
    slice must be known while tracing, since the shape of the result depends on them.

    Wrong::

        fnp.arange(3)[1.0]

    Right::

        fnp.arange(3)[int(1.0)]
    """


class ArgumentError(FgradError, TypeError, ValueError):
    """An argument of a wrong kind or value, where no other class says more.

    Wrong::

        fgrad.grad(3.0)

    Right::

        fgrad.grad(lambda x: x * 3.0)(1.0)
    """


class MissingNameError(FgradError, NameOfNamespace, AttributeError):
    """A name that a namespace of fgrad does not have.

    The message says which namespace has it, or which name is written almost like it.

    Wrong::

        fnp.sigmoid(1.0)

    Right::

        fgrad.nn.sigmoid(1.0)
    """


class NonArrayError(FgradError, TypeError):
    """A leaf of an argument that is not an array or a number.

    Arguments of transformed functions are arrays, numbers and trees of them: tuples, lists, dicts,
    named tuples, None and registered classes. Strings and other settings go through a closure or
    through ``static_argnums``; a dataclass is registered.

    Wrong::

        def activate(x, kind):
            return fnp.tanh(x) if kind == "tanh" else x

        fgrad.jit(activate)(1.0, "tanh")

    Right::

        def activate(x, kind):
            return fnp.tanh(x) if kind == "tanh" else x

        fgrad.jit(activate, static_argnames="kind")(1.0, "tanh")
    """


class UnsupportedArrayError(FgradError, TypeError):
    """An array of a kind that fgrad does not compute with.

    These are arrays of objects, strings, dates, records and extended precision; masked arrays and
    ``np.matrix``, whose arithmetic differs; sparse matrices; and pandas objects, which have labels.
    The message says how to convert each.

    Wrong::

        fnp.sum(np.ma.masked_array([1.0, 2.0], mask=[False, True]))

    Right::

        masked = np.ma.masked_array([1.0, 2.0], mask=[False, True])
        fnp.sum(masked.filled(0.0))
    """


# ---- traced values in plain Python -----------------------------------------------------------


class ConcretizationTypeError(FgradError, TypeError):
    """The value of a traced array is needed, but it is unknown while tracing.

    Under ``jit`` and ``checkpoint``, in the bodies of ``scan``, ``while_loop`` and ``cond``, and for the
    mapped arguments of ``vmap``, a function runs once for all values that its arguments may take.
    ``fgrad.numpy.where``, ``lax.cond`` and ``lax.while_loop`` choose and loop by unknown values. The
    classes below say for which purpose the value was needed; this one stands for the remaining purposes.

    Wrong::

        fgrad.jit(lambda start: fnp.arange(start, 5.0))(2.0)

    Right::

        fgrad.jit(lambda start: start + fnp.arange(3.0))(2.0)
    """


class TracerBoolConversionError(ConcretizationTypeError):
    """A branch on the unknown value of a traced array.

    ``if``, ``while``, ``and``, ``or``, ``not`` and ``assert`` need a truth value. Under ``grad`` and
    its kin there is one. Under ``jit`` and ``vmap``, choose with ``where`` or ``lax.cond``, loop with
    ``lax.while_loop``, or make the argument static.

    Wrong::

        fgrad.jit(lambda x: x if x > 0 else 0.0)(1.0)

    Right::

        fgrad.jit(lambda x: fnp.where(x > 0, x, 0.0))(1.0)
    """


class TracerIntegerConversionError(ConcretizationTypeError):
    """A traced array of unknown value where Python needs an integer.

    Sizes, shapes, axes and numbers of repetitions must be known while tracing. ``lax.fori_loop`` loops an
    unknown number of times.

    Wrong::

        fgrad.jit(lambda x, n: sum(x**k for k in range(n)))(0.5, 4)

    Right::

        fgrad.jit(lambda x, n: sum(x**k for k in range(n)), static_argnums=1)(0.5, 4)
    """


class TracerArrayConversionError(ConcretizationTypeError):
    """A traced array of unknown value converted to a NumPy array or a Python number.

    Functions of NumPy run on traced arrays: ``np.sin(x)`` is fine. What makes a plain array is not:
    ``np.array``, ``np.asarray``, an assignment into a plain array, and the functions of ``math``.

    Wrong::

        fgrad.jit(lambda x, y: np.array([x, y]).sum())(1.0, 2.0)

    Right::

        fgrad.jit(lambda x, y: fnp.array([x, y]).sum())(1.0, 2.0)
    """


class NonConcreteBooleanIndexError(ConcretizationTypeError, IndexError):
    """A boolean mask of unknown value used as an index: the result would have an unknown shape.

    Wrong::

        fgrad.jit(lambda x: x[x > 0].sum())(np.array([1.0, -2.0]))

    Right::

        fgrad.jit(lambda x: fnp.where(x > 0, x, 0.0).sum())(np.array([1.0, -2.0]))
    """


class DerivativeCutError(ConcretizationTypeError):
    """A conversion that would silently cut a derivative.

    Under ``grad``, ``vjp`` and ``jvp`` values are known, so that they can be branched on and printed.
    A Python number or a plain NumPy array made of one has no derivative any more, and the result
    would be wrong without a word. Functions of ``fgrad.numpy`` keep it; ``stop_gradient`` says that no
    derivative is wanted.

    Wrong::

        import math

        fgrad.grad(lambda x: math.sin(x))(1.0)

    Right::

        import math

        fgrad.grad(lambda x: fnp.sin(x))(1.0)
        fgrad.grad(lambda x: x * math.sin(fgrad.lax.stop_gradient(x)))(1.0)
    """


class LeakedTracerError(FgradError, RuntimeError):
    """A traced array used after its transform has ended, or in another thread.

    A function that is transformed must hand its results over by returning them. One that puts them
    into a global, an attribute or a list leaves something that has no meaning outside.

    Wrong::

        seen = []

        def loss(x):
            seen.append(x * 2.0)
            return x**2

        fgrad.grad(loss)(1.0)
        seen[0] + 1.0

    Right::

        def loss(x):
            return x**2, x * 2.0

        slope, seen = fgrad.grad(loss, has_aux=True)(1.0)
        seen + 1.0
    """


class InPlaceError(FgradError, TypeError):
    """An assignment into an array that cannot be changed.

    Arrays of fgrad are immutable. ``x.at[i].set(v)`` and its kin make a changed copy, which ``jit``
    turns into a change in place where nobody sees the difference; a statement that throws the copy
    away warns. ``np.array(x)`` makes a writable copy.

    Wrong::

        x = fnp.zeros(3)
        x[0] = 1.0

    Right::

        x = fnp.zeros(3)
        x = x.at[0].set(1.0)
    """


class MemoryLayoutError(FgradError, AttributeError):
    """A traced array was asked how it lies in memory.

    It stands for a value of some shape and dtype, and has no memory of its own: there are no strides,
    flags or addresses to give. Reshaping, transposing and indexing do not depend on them.

    Wrong::

        fgrad.grad(lambda x: x.sum() / x.strides[0])(np.ones(3))

    Right::

        fgrad.grad(lambda x: x.sum() / x.itemsize)(np.ones(3))
    """


# ---- transforms ------------------------------------------------------------------------------


class NonScalarOutputError(FgradError, TypeError):
    """``grad`` of a function whose result is not a scalar.

    Wrong::

        fgrad.grad(lambda x: x**2)(fnp.ones(3))

    Right::

        fgrad.grad(lambda x: (x**2).sum())(fnp.ones(3))
        fgrad.jacrev(lambda x: x**2)(fnp.ones(3))
    """


class DifferentiationTypeError(FgradError, TypeError):
    """An input or result whose dtype cannot be differentiated as was asked.

    Integers and booleans have no derivatives. A complex result needs ``holomorphic=True``, which
    needs complex inputs.

    Wrong::

        fgrad.grad(lambda x: x**2)(3)

    Right::

        fgrad.grad(lambda x: x**2)(3.0)
    """


class NonDifferentiableError(FgradError, TypeError):
    """A derivative that does not exist, or that an operation does not have.

    Wrong::

        fgrad.grad(lambda a: fnp.linalg.qr(a, mode="raw")[0].sum())(np.eye(2))

    Right::

        fgrad.grad(lambda a: fnp.linalg.qr(a)[1].sum())(np.eye(2))
    """


class NonLinearError(FgradError, TypeError):
    """``linear_transpose`` of a function that is not linear.

    Wrong::

        fgrad.linear_transpose(lambda x: x * x, 1.0)(1.0)

    Right::

        fgrad.linear_transpose(lambda x: 3.0 * x, 1.0)(1.0)
    """


class CarryTypeError(FgradError, TypeError):
    """The carry that the body of a loop returns is not like the one that it was given.

    The carry of ``scan``, ``while_loop`` and ``fori_loop`` keeps its structure, shapes and dtypes from
    step to step. The message shows both side by side.

    Wrong::

        fgrad.lax.fori_loop(0, 3, lambda i, x: fnp.stack([x, x]), 1.0)

    Right::

        fgrad.lax.fori_loop(0, 3, lambda i, x: x + x, 1.0)
    """


class BranchTypeError(FgradError, TypeError):
    """The branches of ``cond`` or ``switch`` return results of different types.

    Which branch runs may depend on values that are unknown while tracing, so all of them return the same
    structure, shapes and dtypes. The message shows them side by side.

    Wrong::

        fgrad.lax.cond(True, lambda x: x, lambda x: (x, x), 1.0)

    Right::

        fgrad.lax.cond(True, lambda x: (x, 0.0), lambda x: (x, x), 1.0)
    """


class PredicateTypeError(FgradError, TypeError):
    """What chooses a branch or ends a loop is not a scalar truth value.

    Wrong::

        fgrad.lax.while_loop(lambda x: x < 3.0, lambda x: x + 1.0, fnp.zeros(2))

    Right::

        fgrad.lax.while_loop(lambda x: fnp.any(x < 3.0), lambda x: x + 1.0, fnp.zeros(2))
    """


class LoopLengthError(FgradError, ValueError):
    """The number of steps of a loop is unclear: arrays of different lengths, or none.

    Wrong::

        fgrad.lax.scan(lambda c, x: (c + x[0] * x[1], None), 0.0, (fnp.ones(3), fnp.ones(4)))

    Right::

        fgrad.lax.scan(lambda c, x: (c + x[0] * x[1], None), 0.0, (fnp.ones(3), fnp.ones(3)))
    """


class UnboundedLoopError(FgradError, ValueError):
    """Reverse mode of a loop that runs an unknown number of times.

    The backward pass needs what each step of the forward pass kept, and how often a ``while_loop`` runs, or a
    ``fori_loop`` whose bounds are unknown while tracing, is known only when it has run. Use ``scan``, or
    ``fori_loop`` with known bounds; differentiate what the loop solves by ``custom_root`` or ``custom_vjp``; or
    use forward mode. A loop whose carries need no derivative is given ``stop_gradient(x)``.

    Wrong::

        double = lambda x: fgrad.lax.while_loop(lambda c: c < 9.0, lambda c: c * 2.0, x)
        fgrad.grad(double)(1.0)

    Right::

        double = lambda x: fgrad.lax.fori_loop(0, 4, lambda i, c: c * 2.0, x)
        fgrad.grad(double)(1.0)
    """


class ArgnumsError(FgradError, ValueError, TypeError):
    """``argnums``, ``static_argnums`` or ``static_argnames`` that the function or call does not have.

    Positions count from 0, and only arguments that are passed by position have one.

    Wrong::

        fgrad.grad(lambda x, y: x * y, argnums=2)(1.0, 2.0)

    Right::

        fgrad.grad(lambda x, y: x * y, argnums=1)(1.0, 2.0)
    """


class TangentError(FgradError, TypeError, ValueError):
    """Tangents or cotangents whose structure, shape or dtype do not match their primals.

    Those of integers and booleans are ``np.zeros(shape, fgrad.float0)``.

    Wrong::

        fgrad.jvp(fnp.sin, (np.ones(3),), (1.0,))

    Right::

        fgrad.jvp(fnp.sin, (np.ones(3),), (np.ones(3),))
    """


class MappedAxisError(FgradError, ValueError):
    """``in_axes``, ``out_axes`` or mapped sizes that do not fit the arguments of ``vmap``.

    Wrong::

        fgrad.vmap(lambda x, w: x @ w)(np.ones((8, 3)), np.ones(3))

    Right::

        fgrad.vmap(lambda x, w: x @ w, in_axes=(0, None))(np.ones((8, 3)), np.ones(3))
    """


class UnboundAxisError(FgradError, NameError):
    """A collective over a mapped axis that has no such name.

    Wrong::

        fgrad.vmap(lambda x: x - fgrad.lax.pmean(x, "rows"))(np.ones(4))

    Right::

        fgrad.vmap(lambda x: x - fgrad.lax.pmean(x, "rows"), axis_name="rows")(np.ones(4))
    """


class CallbackError(FgradError, TypeError, ValueError):
    """A Python function that is called at run time and breaks its promise.

    Its results must have the declared types. Under ``checkpoint`` the function runs twice, so that a call
    with an effect and a result has no meaning there.

    Wrong::

        like = fgrad.ShapeDtypeStruct((), np.float64)
        fgrad.pure_callback(lambda x: np.stack([x, x]), like, 1.0)

    Right::

        like = fgrad.ShapeDtypeStruct((2,), np.float64)
        fgrad.pure_callback(lambda x: np.stack([x, x]), like, 1.0)
    """


class StaticArgumentError(FgradError, TypeError, ValueError):
    """A static argument of ``jit`` that cannot be hashed.

    A function is compiled once for each value of its static arguments, which are looked up in a
    table.

    Wrong::

        fgrad.jit(lambda x, shape: x.reshape(shape), static_argnums=1)(np.ones(4), [2, 2])

    Right::

        fgrad.jit(lambda x, shape: x.reshape(shape), static_argnums=1)(np.ones(4), (2, 2))
    """


# ---- rules of users --------------------------------------------------------------------------


class UndefinedRuleError(FgradError, AttributeError):
    """A function declared with ``custom_jvp``, ``custom_vjp`` or ``custom_vmap`` has no rule yet.

    Wrong::

        double = fgrad.custom_jvp(lambda x: 2.0 * x)
        double(1.0)

    Right::

        double = fgrad.custom_jvp(lambda x: 2.0 * x)
        double.defjvps(lambda x_dot, answer, x: 2.0 * x_dot)
        double(1.0)
    """


class CustomRuleError(FgradError, TypeError, ValueError):
    """A rule returned something else than its function calls for.

    A jvp rule returns the answer and a tangent of the same structure, shapes and dtypes. A forward rule
    returns the answer and residuals, a backward rule a tuple with a cotangent, or None, for each
    argument. A batching rule returns the answer, and in the same structure which leaves are batched. The
    message names the rule and its line, and shows what was expected.

    Wrong::

        @fgrad.custom_vjp
        def double(x, y):
            return 2.0 * x

        double.defvjp(lambda x, y: (2.0 * x, None), lambda residuals, ct: 2.0 * ct)
        fgrad.grad(double)(1.0, 1.0)

    Right::

        @fgrad.custom_vjp
        def double(x, y):
            return 2.0 * x

        double.defvjp(lambda x, y: (2.0 * x, None), lambda residuals, ct: (2.0 * ct, None))
        fgrad.grad(double)(1.0, 1.0)
    """


class NondiffArgumentError(FgradError, TypeError):
    """A traced value was passed where ``nondiff_argnums`` of ``custom_vjp`` announces a setting.

    These arguments reach the backward rule as they are, after the transform has ended. They are for
    functions, shapes, names and plain numbers; an array without a derivative is an ordinary argument,
    for which the backward rule returns None.

    Wrong::

        @functools.partial(fgrad.custom_vjp, nondiff_argnums=1)
        def scale(x, by):
            return by * x

        scale.defvjp(lambda x, by: (by * x, None), lambda by, residuals, ct: (by * ct,))
        fgrad.jit(scale)(1.0, 2.0)

    Right::

        @fgrad.custom_vjp
        def scale(x, by):
            return by * x

        scale.defvjp(lambda x, by: (by * x, by), lambda by, ct: (by * ct, None))
        fgrad.jit(scale)(1.0, 2.0)
    """


class ClosedOverValueError(FgradError, TypeError):
    """A function with a rule closes over a value that is being differentiated along with its arguments.

    The rule speaks of the arguments only, so that the derivative with respect to the other value is
    unknown. Pass it as an argument; `closure_convert` does so for functions that are arguments.

    Wrong::

        def loss(w, x):
            @fgrad.custom_jvp
            def scaled(x):
                return w * x

            scaled.defjvps(lambda x_dot, answer, x: w * x_dot)
            return scaled(x)

        fgrad.grad(loss, argnums=(0, 1))(2.0, 3.0)

    Right::

        @fgrad.custom_jvp
        def scaled(w, x):
            return w * x

        scaled.defjvps(lambda w_dot, answer, w, x: w_dot * x, lambda x_dot, answer, w, x: w * x_dot)
        fgrad.grad(scaled, argnums=(0, 1))(2.0, 3.0)
    """


# ---- trees -----------------------------------------------------------------------------------


class TreeTypeError(FgradError, TypeError):
    """A class that cannot be registered as a tree node, or a tree of a kind that does not fit.

    Wrong::

        fgrad.tree.reduce(lambda a, b: a + b, {})

    Right::

        fgrad.tree.reduce(lambda a, b: a + b, {}, 0.0)
    """


class TreeStructureError(FgradError, ValueError):
    """Trees whose structures should agree and do not.

    Wrong::

        fgrad.tree.map(lambda a, b: a + b, {"w": 1.0}, {"v": 2.0})

    Right::

        fgrad.tree.map(lambda a, b: a + b, {"w": 1.0}, {"w": 2.0})
    """


# ---- primitives and configuration ------------------------------------------------------------


class JaxprTypeError(FgradError, TypeError):
    """A jaxpr that breaks a typing or scoping rule.

    The flag ``fgrad_check_jaxprs`` checks every jaxpr that is made, and every result. Unless a jaxpr
    was changed by hand or a primitive was declared outside of fgrad, this is a fault of fgrad: please
    report it.

    Wrong::

        from fgrad.ir.check import check_jaxpr

        jaxpr = fgrad.make_jaxpr(lambda x: fnp.sin(x) * 2.0)(1.0)
        jaxpr.eqns = jaxpr.eqns[::-1]
        check_jaxpr(jaxpr)

    Right::

        from fgrad.ir.check import check_jaxpr

        jaxpr = fgrad.make_jaxpr(lambda x: fnp.sin(x) * 2.0)(1.0)
        check_jaxpr(jaxpr)
    """


class MissingRuleError(FgradError, TypeError):
    """A primitive declared without one of its rules.

    Wrong::

        class Twice(fgrad.extend.Linear):
            def abstract_eval(self, x):
                return x

            def impl(self, x):
                return 2 * x

    Right::

        class Twice(fgrad.extend.Linear):
            def abstract_eval(self, x):
                return x

            def impl(self, x):
                return 2 * x

            def transpose(self, ct, needs, x):
                return [2 * ct]
    """


class ConfigError(FgradError, AttributeError, ValueError):
    """A configuration flag that does not exist, or a value that it does not take.

    Wrong::

        fgrad.config.update("fgrad_debug_nan", True)

    Right::

        fgrad.config.update("fgrad_debug_nans", True)
    """


class StaleConstantError(FgradError, RuntimeError):
    """An array that a compiled function captured was changed afterwards.

    A compiled function keeps the values that captured arrays had when it was compiled. The flag
    ``fgrad_debug_stale``, set before it is compiled, checks them at each call.

    Wrong::

        fgrad.config.update("fgrad_debug_stale", True)
        weights = np.ones(3)
        score = fgrad.jit(lambda x: (weights * x).sum())
        score(1.0)
        weights[0] = 2.0
        score(1.0)

    Right::

        fgrad.config.update("fgrad_debug_stale", True)
        weights = np.ones(3)
        score = fgrad.jit(lambda weights, x: (weights * x).sum())
        score(weights, 1.0)
        weights[0] = 2.0
        score(weights, 1.0)
    """


class ExportError(FgradError, ValueError):
    """A function that cannot be written as a module without fgrad.

    Such a module has no Python function of the user's to call back, and takes and returns arrays,
    Python numbers, and dicts, lists and tuples of them.

    Wrong::

        f = lambda x: fgrad.pure_callback(np.sin, x, x)
        fgrad.export(f, fnp.ones(3), path="f.py")

    Right::

        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            fgrad.export(lambda x: fnp.sin(x), fnp.ones(3), path=folder + "/sine.py")
    """


class NanError(FgradError, FloatingPointError):
    """A NaN was made while the flag ``fgrad_debug_nans`` is on.

    Compiled functions run operation by operation then, so that the message names the line.

    Wrong::

        fgrad.config.update("fgrad_debug_nans", True)
        with np.errstate(invalid="ignore"):
            fnp.log(-1.0)

    Right::

        fgrad.config.update("fgrad_debug_nans", True)
        fnp.log(fnp.maximum(-1.0, 1e-6))
    """


class CheckError(FgradError, ValueError, RuntimeError):
    """A check that did not hold while the program ran.

    Checks are made with `fgrad.experimental.checkify.check`. Under `checkify` they raise nothing: there, what
    went wrong is a result, also under ``jit`` and ``vmap``.

    Wrong::

        from fgrad.experimental import checkify

        def root(x):
            checkify.check(x >= 0.0, "{} has no real root", x)
            return fnp.sqrt(fnp.abs(x))

        root(-4.0)

    Right::

        from fgrad.experimental import checkify

        def root(x):
            checkify.check(x >= 0.0, "{} has no real root", x)
            return fnp.sqrt(fnp.abs(x))

        error, y = checkify.checkify(root)(-4.0)
        error.get()
    """


class KeyReuseError(FgradError, RuntimeError):
    """A random key was used twice while the flag ``fgrad_debug_key_reuse`` is on.

    The two results would not be independent: equal draws from one key are equal.

    Wrong::

        fgrad.config.update("fgrad_debug_key_reuse", True)
        key = fgrad.random.key(0)
        fgrad.random.normal(key)
        fgrad.random.uniform(key)

    Right::

        fgrad.config.update("fgrad_debug_key_reuse", True)
        first, second = fgrad.random.split(fgrad.random.key(0))
        fgrad.random.normal(first)
        fgrad.random.uniform(second)
    """


# ---- names of JAX --------------------------------------------------------------------------------

_NAMES_OF_JAX = {
    "JAXIndexError": NonConcreteBooleanIndexError,
    "JAXTypeError": ConcretizationTypeError,
    "JaxRuntimeError": CheckError,
    "UnexpectedTracerError": LeakedTracerError,
}


def __getattr__(name: str) -> type[FgradError]:
    if name in _NAMES_OF_JAX:
        return _NAMES_OF_JAX[name]
    raise MissingNameError(__name__, name)
