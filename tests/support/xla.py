"""How the reference is compiled.

Each program is compiled once and run once on a few numbers: optimising it does not pay, and most of the
time of the suite is XLA's.
"""

from importlib.metadata import version

XLA_FLAGS = "--xla_backend_optimization_level=0"
# Fused loops take half of the time that is left. Later releases crash where they are switched off.
if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):
    XLA_FLAGS += " --xla_cpu_use_fusion_emitters=false"
