"""Names of the top level: flags and their contexts, stages and costs, profiles, passes as two functions."""

from __future__ import annotations

import pickle
import pstats
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import jax.stages
import numpy as np
import pytest
from support.modules import jax

import fgrad
import fgrad.numpy as fnp
from fgrad.errors import ArgnumsError, ArgumentError, ConfigError, TangentError
from fgrad.test_util import check_grads


@pytest.fixture(autouse=True)
def flags_as_before() -> Iterator[None]:
    before = dict(vars(fgrad.config))
    yield
    vars(fgrad.config).update(before)


# ---- flags ---------------------------------------------------------------------------------------


def test_flags_are_read_by_any_of_their_names() -> None:
    for name in ("enable_x64", "fgrad_enable_x64", "jax_enable_x64"):
        assert fgrad.config.read(name) is True
        assert fgrad.config.values[name] is True
        assert name in fgrad.config.values
    assert fgrad.config.x64_enabled
    assert set(fgrad.config.values) == set(dict(fgrad.config.values))
    assert "no_such_flag" not in fgrad.config.values
    with pytest.raises(
        ConfigError, match=r"no configuration flag 'no_such_flag'; the flags are enable_x64"
    ):
        fgrad.config.read("no_such_flag")
    with pytest.raises(ConfigError, match="no configuration flag 'checks_results'"):
        fgrad.config.read("checks_results")


def test_synonyms_of_flags() -> None:
    fgrad.config.update("jax_enable_checks", False)
    assert fgrad.config.check_jaxprs is False
    with fgrad.enable_checks():
        assert fgrad.config.check_jaxprs
        assert fgrad.config.jax_enable_checks
    assert fgrad.config.check_jaxprs is False
    with fgrad.log_compiles(), pytest.warns(UserWarning, match="jit of .* compiles"):
        fgrad.jit(lambda x: x + 1.0)(2.0)


def test_checks_that_never_happen_say_so() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fgrad.numpy_dtype_promotion("standard"), fgrad.numpy_rank_promotion("allow"):
            pass
    with pytest.warns(
        UserWarning, match="'numpy_rank_promotion' is 'raise', but fgrad does not check"
    ):
        fgrad.config.update("numpy_rank_promotion", "raise")
    with pytest.warns(UserWarning, match="dtypes are promoted by NumPy's rules"):
        fgrad.config.update("jax_numpy_dtype_promotion", "strict")
    with pytest.raises(ConfigError, match=r"takes one of \('standard', 'strict'\), got 'loose'"):
        fgrad.config.update("numpy_dtype_promotion", "loose")
    with pytest.raises(
        ConfigError, match=r"'jax_debug_infs' takes one of \(None, False\), got True"
    ):
        fgrad.config.update("jax_debug_infs", True)


@pytest.mark.parametrize(
    ("name", "flag", "value"),
    [
        ("check_tracer_leaks", "check_tracer_leaks", True),
        ("debug_key_reuse", "debug_key_reuse", True),
        ("default_prng_impl", "default_prng_impl", "philox"),
        ("enable_custom_prng", "enable_custom_prng", True),
        ("explain_cache_misses", "explain_cache_misses", True),
        ("softmax_custom_jvp", "softmax_custom_jvp", True),
        ("threefry_partitionable", "threefry_partitionable", True),
        ("transfer_guard", "transfer_guard", "disallow"),
        ("transfer_guard_device_to_device", "transfer_guard_device_to_device", "log"),
        ("transfer_guard_device_to_host", "transfer_guard_device_to_host", "log"),
        ("transfer_guard_host_to_device", "transfer_guard_host_to_device", "log"),
    ],
)
def test_flags_for_a_block(name: str, flag: str, value: Any) -> None:
    before = fgrad.config.read(flag)
    with getattr(fgrad, name)(value):
        assert fgrad.config.read(flag) == value
    assert fgrad.config.read(flag) == before


@pytest.mark.parametrize(
    ("argument", "flag", "value"),
    [
        ("--jax_enable_x64=false", "enable_x64", False),
        ("--nojax_enable_x64", "enable_x64", False),
        ("-fgrad_debug_nans", "debug_nans", True),
        ("--jax_debug_nans=True", "debug_nans", True),
        ("--jax_num_cpu_devices=4", "num_cpu_devices", 4),
        ("--fgrad_default_prng_impl=philox", "default_prng_impl", "philox"),
    ],
)
def test_flags_from_the_command_line(
    argument: str, flag: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["program", "--other=1", argument, "--jax_unknown=3", "file"])
    fgrad.config.parse_flags_with_absl()
    assert fgrad.config.read(flag) == value


def test_the_command_line_is_refused_where_it_makes_no_sense(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["program", "--", "--jax_enable_x64=0"])
    fgrad.config.parse_flags_with_absl()
    assert fgrad.config.enable_x64
    monkeypatch.setattr(sys, "argv", ["program", "--jax_enable_x64=maybe"])
    with pytest.raises(ConfigError, match="'jax_enable_x64' takes true or false, got 'maybe'"):
        fgrad.config.parse_flags_with_absl()


class _Flags:
    """A stand-in for the parser of absl, which takes definitions and runs what waits for it."""

    def __init__(self) -> None:
        self.FLAGS: dict[str, Any] = {}
        self.waiting: list[Any] = []

    def DEFINE_bool(self, name: str, default: Any, text: str) -> None:
        self.FLAGS[name] = bool

    def DEFINE_string(self, name: str, default: Any, text: str) -> None:
        self.FLAGS[name] = str

    def call_after_init(self, callback: Any) -> None:
        self.waiting.append(callback)


def test_flags_are_defined_for_absl_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in: Any = _Flags()
    stand_in.flags = stand_in.app = stand_in
    for name in ("absl", "absl.flags", "absl.app"):
        monkeypatch.setitem(sys.modules, name, stand_in)
    monkeypatch.setattr(sys, "argv", ["program", "--jax_debug_nans"])
    fgrad.config.config_with_absl()
    assert stand_in.FLAGS["jax_enable_x64"] is bool
    assert stand_in.FLAGS["fgrad_default_prng_impl"] is str
    assert not fgrad.config.debug_nans
    (run,) = stand_in.waiting
    run()
    assert fgrad.config.debug_nans


def test_the_config_of_old_imports() -> None:
    from fgrad.config import config

    assert config.config is config is fgrad.config
    with pytest.warns(DeprecationWarning, match=r"use fgrad\.enable_x64"):
        old = fgrad.experimental.enable_x64
    with old(False):
        assert fnp.ones(1).dtype == np.float32
    with pytest.warns(DeprecationWarning, match=r"use fgrad\.enable_x64\(False\)"):
        old = fgrad.experimental.disable_x64
    with old():
        assert fnp.ones(1).dtype == np.float32
    with pytest.warns(DeprecationWarning, match=r"use fgrad\.example_libraries\.optimizers"):
        assert fgrad.experimental.optimizers is fgrad.example_libraries.optimizers
    with pytest.warns(DeprecationWarning, match=r"use fgrad\.sharding\.PartitionSpec"):
        assert fgrad.experimental.PartitionSpec is fgrad.P


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("index_update", r"x\.at\[index\]\.set\(values\)"),
        ("index_add", r"x\.at\[index\]\.add\(values\)"),
        ("index_mul", r"x\.at\[index\]\.multiply\(values\)"),
        ("index_min", r"x\.at\[index\]\.min\(values\)"),
        ("index_max", r"x\.at\[index\]\.max\(values\)"),
        ("index", "write the index itself"),
    ],
)
def test_removed_updates_name_what_took_their_place(name: str, advice: str) -> None:
    with pytest.raises(AttributeError, match=advice):
        getattr(fgrad.ops, name)


# ---- while recording -----------------------------------------------------------------------------


def test_evaluation_while_recording() -> None:
    @fgrad.jit
    def f(x: Any) -> Any:
        with fgrad.ensure_compile_time_eval():
            table = fnp.cumsum(fnp.ones(3000))
            draw = fgrad.random.normal(fgrad.random.key(0), (3,))
            known = bool(table[-1] > 0) and draw.shape == (3,)
            half = 0.5 * x
        return half * table[-1] if known else x

    assert float(f(2.0)) == 3000.0
    assert len(f.lower(2.0).jaxpr.eqns) == 2
    assert float(fgrad.grad(f)(2.0)) == 1500.0
    np.testing.assert_array_equal(fgrad.vmap(f)(np.arange(3.0)), 1500.0 * np.arange(3.0))


def test_evaluation_while_recording_as_a_decorator() -> None:
    @fgrad.core.ensure_compile_time_eval()
    def table() -> Any:
        return fnp.cumsum(fnp.ones(3000))

    assert len(fgrad.jit(lambda x: x * table()[-1]).lower(2.0).jaxpr.eqns) == 1


def test_all_compiled_functions_forget() -> None:
    f, g = fgrad.jit(lambda x: 2.0 * x), fgrad.jit(lambda x: 3.0 * x)
    f(1.0), g(1.0), g(np.ones(2))
    fgrad.clear_caches()
    assert f.cache_info().size == g.cache_info().size == 0
    assert float(f(2.0)) == 4.0


def test_types_of_values() -> None:
    assert fgrad.typeof(1.0) == fgrad.core.get_aval(1.0)
    seen = []
    fgrad.vmap(lambda x: seen.append(fgrad.typeof(x)) or x)(np.ones((2, 3), np.float32))
    assert seen[0].shape == (3,)
    assert seen[0].dtype == np.float32


def test_one_process_and_one_memory() -> None:
    assert fgrad.host_id() == fgrad.process_index() == 0
    assert fgrad.host_count() == fgrad.process_count() == 1
    assert fgrad.host_ids() == fgrad.process_indices() == [0]
    seen: list[float] = []
    fgrad.jit(lambda x: fgrad.debug.callback(lambda v: seen.append(float(v)), x))(2.0)
    fgrad.effects_barrier()
    assert seen == [2.0]
    assert fgrad.P("a") == fgrad.sharding.PartitionSpec("a")
    assert fgrad.NamedSharding is fgrad.sharding.NamedSharding


def test_arrays_of_other_libraries() -> None:
    x = np.arange(6.0).reshape(2, 3)
    got = fgrad.dlpack.from_dlpack(jax.numpy.asarray(x))
    assert isinstance(got, fgrad.Array)
    np.testing.assert_array_equal(got, x)
    own = fgrad.dlpack.from_dlpack(x)
    x[0, 0] = 7.0
    assert own[0, 0] == 0.0
    for dtype in ("float32", "int8", "complex128", bool):
        assert fgrad.dlpack.is_supported_dtype(dtype)
        assert jax.dlpack.is_supported_dtype(dtype)
    assert not fgrad.dlpack.is_supported_dtype("datetime64[s]")


def test_versions() -> None:
    assert (
        ".".join(map(str, fgrad.__version_info__)) == fgrad.__version__ == fgrad.version.__version__
    )


# ---- stages and costs ----------------------------------------------------------------------------


def _program(m: Any, n: Any) -> Any:
    return lambda x: n.sum(n.sin(x) @ x + 1.0)


def test_costs_are_those_of_jax() -> None:
    x = np.ones((6, 6), np.float32)
    lowered = fgrad.jit(_program(fgrad, fnp)).lower(x)
    compiled = lowered.compile()
    expected = jax.jit(_program(jax, jax.numpy)).lower(x).cost_analysis()
    for found in (lowered.cost_analysis(), compiled.cost_analysis()):
        assert found["flops"] == expected["flops"]
        assert found["transcendentals"] == expected["transcendentals"]
        assert found["bytes accessed"] >= 2 * x.nbytes


def test_costs_of_bodies() -> None:
    x = np.ones(10)
    step = lambda c, _: (c * x + 1.0, None)  # noqa: E731
    scan = fgrad.jit(lambda c: fgrad.lax.scan(step, c, None, length=7)[0]).lower(x)
    assert scan.cost_analysis()["flops"] == 7 * 20
    branch = fgrad.jit(lambda p, v: fgrad.lax.cond(p, lambda v: v * 2.0 + 1.0, lambda v: v, v))
    assert branch.lower(True, x).cost_analysis()["flops"] == 20
    transform = fgrad.jit(fnp.fft.fft).lower(np.ones(8, complex)).cost_analysis()
    assert transform["flops"] == 5 * 8 * 3


def test_memory_of_a_compiled_function() -> None:
    x = np.ones((100, 100))
    stats = fgrad.jit(lambda v: fnp.sum(fnp.sin(v) @ v)).lower(x).compile().memory_analysis()
    assert stats.argument_size_in_bytes == x.nbytes
    assert stats.output_size_in_bytes == 8
    # The sine and the product live at the same time.
    assert stats.temp_size_in_bytes == 2 * x.nbytes
    assert stats.peak_memory_in_bytes == 3 * x.nbytes + 8
    assert stats.generated_code_size_in_bytes > 0
    reused = fgrad.jit(lambda v: fnp.sum(fnp.sin(fnp.cos(fnp.sin(v))) @ v)).lower(x).compile()
    assert reused.memory_analysis().temp_size_in_bytes == 2 * x.nbytes


def test_programs_in_dialects() -> None:
    lowered = fgrad.jit(lambda x: fnp.sin(x)).lower(np.ones(3))
    assert lowered.compiler_ir() is lowered.jaxpr
    assert "np.sin" in lowered.compiler_ir("python")
    assert lowered.as_text() == str(lowered.jaxpr)
    assert lowered.as_text("python") == lowered.source == lowered.compile().as_text()
    with pytest.raises(
        ArgumentError, match="dialect is 'stablehlo', but functions are compiled to NumPy"
    ):
        lowered.compiler_ir(dialect="stablehlo")
    assert (
        [a.shape for a in lowered.in_avals]
        == [a.shape for a in lowered.compile().in_avals]
        == [(3,)]
    )
    assert lowered.compile().out_info == lowered.out_info
    (found,) = lowered.compile().runtime_executable()(np.zeros(3))
    np.testing.assert_array_equal(found, np.zeros(3))


def test_stages_are_classes() -> None:
    f = fgrad.jit(lambda x: x)
    lowered = f.lower(1.0)
    assert isinstance(f, fgrad.stages.Wrapped)
    assert isinstance(lowered, fgrad.stages.Lowered)
    assert isinstance(f.trace(1.0), fgrad.stages.Traced)
    assert isinstance(lowered.compile(), fgrad.stages.Compiled)
    assert set(fgrad.stages.__all__) <= set(dir(jax.stages))


# ---- both passes as functions --------------------------------------------------------------------


def _model(n: Any) -> Any:
    def model(params: Any, x: Any, scale: Any) -> Any:
        hidden = n.tanh(x @ params["w"] + params["b"])
        return {"y": hidden * scale, "n": n.sum(hidden)}

    return model


PARAMS = {"w": np.linspace(-1.0, 1.0, 6).reshape(3, 2), "b": np.array([0.25, -0.5])}
X = np.linspace(0.0, 1.0, 12).reshape(4, 3)


@pytest.mark.parametrize("jitted", [True, False])
@pytest.mark.parametrize("argnums", [0, (0,), (1, 0), (2, 1)])
def test_both_passes_are_those_of_jax(argnums: Any, jitted: bool) -> None:
    fwd, bwd = fgrad.fwd_and_bwd(_model(fnp), argnums, jitted=jitted)
    jfwd, jbwd = jax.fwd_and_bwd(_model(jax.numpy), argnums)
    y, residuals = fwd(PARAMS, X, 1.5)
    expected, kept = jfwd(PARAMS, X, 1.5)
    cts = {"y": np.cos(np.arange(8.0)).reshape(4, 2), "n": np.float64(0.5)}
    for got, wanted in ((y, expected), (bwd(residuals, cts), jbwd(kept, cts))):
        assert fgrad.tree.structure(got) == fgrad.tree.structure(fgrad.tree.map(np.asarray, wanted))
        for a, b in zip(fgrad.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)
            assert a.dtype == b.dtype


def test_each_pass_compiles_once() -> None:
    fwd, bwd = fgrad.fwd_and_bwd(lambda x, n: fnp.sin(x) * n, 0)
    for scale in (1.0, 2.0, 3.0):
        _, residuals = fwd(np.ones(3), scale)
        np.testing.assert_allclose(bwd(residuals, np.ones(3)), scale * np.cos(1.0) * np.ones(3))
    assert fwd.cache_info().misses == bwd.cache_info().misses == 1
    copied = fgrad.tree.map(np.array, residuals)
    np.testing.assert_allclose(bwd(copied, np.ones(3)), 3.0 * np.cos(1.0) * np.ones(3))


def test_auxiliary_data_and_integers() -> None:
    fwd, bwd = fgrad.fwd_and_bwd(lambda x, n: (x * n, {"n": n + 1}), (0, 1), has_aux=True)
    y, residuals, aux = fwd(3.0, 2)
    assert float(y) == 6.0
    assert int(aux["n"]) == 3
    slope, of_integer = bwd(residuals, 1.0)
    assert float(slope) == 2.0
    assert of_integer.dtype == fgrad.float0


def test_both_passes_under_the_transforms() -> None:
    fwd, bwd = fgrad.fwd_and_bwd(lambda x: fnp.sin(x) * x, 0)

    def slope(x: Any) -> Any:
        return bwd(fwd(x)[1], np.ones(2))

    x = np.array([0.5, 2.0])
    expected = np.sin(x) + x * np.cos(x)
    np.testing.assert_allclose(slope(x), expected, rtol=1e-14)
    np.testing.assert_allclose(fgrad.jit(slope)(x), expected, rtol=1e-14)
    many = np.stack([x, -x, 2.0 * x])
    np.testing.assert_allclose(
        fgrad.vmap(slope)(many), np.sin(many) + many * np.cos(many), rtol=1e-14
    )
    check_grads(slope, (x,), 2)
    outer = fgrad.grad(lambda s: fgrad.fwd_and_bwd(lambda v: v * s, 0)[0](3.0)[0])
    assert float(outer(2.0)) == 3.0


def test_both_passes_refuse_what_does_not_fit() -> None:
    fwd, bwd = fgrad.fwd_and_bwd(lambda x: 2.0 * x, 0)
    with pytest.raises(ArgnumsError, match="asks for argument 1"):
        fgrad.fwd_and_bwd(lambda x: x, 1)[0](1.0)
    with pytest.raises(TangentError, match=r"the cotangent of .* has shape \(3,\)"):
        bwd(fwd(np.ones(2))[1], np.ones(3))
    with pytest.raises(ArgumentError, match="give what fwd returned as its second result"):
        bwd(1.0, 1.0)
    with pytest.raises(ArgumentError, match="fwd_and_bwd takes a function"):
        fgrad.fwd_and_bwd(3.0, 0)


# ---- profiles and tools --------------------------------------------------------------------------


def test_profiles_are_files_of_pstats(tmp_path: Any) -> None:
    with (
        fgrad.profiler.trace(tmp_path / "run"),
        fgrad.profiler.StepTraceAnnotation("s", step_num=1),
    ):
        pickle.loads(pickle.dumps(np.ones(3)))
        fnp.sin(np.ones(3))
    (path,) = (tmp_path / "run").iterdir()
    functions = {name for _, _, name in pstats.Stats(str(path)).stats}  # type: ignore[attr-defined]
    assert "<built-in method _pickle.dumps>" in functions
    with pytest.raises(ArgumentError, match="stop_trace: no profile is being made"):
        fgrad.profiler.stop_trace()
    fgrad.profiler.start_trace(tmp_path)
    try:
        with pytest.raises(ArgumentError, match="start_trace: a profile is being made"):
            fgrad.profiler.start_trace(tmp_path)
    finally:
        fgrad.profiler.stop_trace()


def test_annotations_name_parts_of_programs() -> None:
    @fgrad.jit
    def f(x: Any) -> Any:
        with fgrad.profiler.TraceAnnotation("wave", kind="sine"):
            return fgrad.profiler.annotate_function(fnp.sin, name="inner")(x)

    assert "wave/inner" in f.lower(1.0).source


def test_what_has_no_meaning_here_is_refused() -> None:
    with pytest.raises(ArgumentError, match="there is no server for profiles"):
        fgrad.profiler.start_server(9012)
    fgrad.profiler.stop_server()
    from fgrad.tools import colab_tpu

    with pytest.raises(ArgumentError, match="setup_tpu: fgrad computes on the CPU"):
        colab_tpu.setup_tpu()


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("FGRAD_NUM_THREADS", "abc"),
        ("FGRAD_NUM_CPU_DEVICES", "0"),
        ("FGRAD_ENABLE_X64", "maybe"),
        ("FGRAD_DEFAULT_PRNG_IMPL", "dice"),
    ],
)
def test_environment_variables_are_checked(
    variable: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(fgrad.errors.ConfigError, match=rf"{variable}={text}"):
        type(fgrad.config)()
    monkeypatch.delenv(variable)
    type(fgrad.config)()
    # The flags as the library has them.
    fgrad.config._refresh()
