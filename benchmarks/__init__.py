"""Speed of fgrad against autograd, hand-written NumPy and JAX, as ratios with targets.

``python -m benchmarks`` prints the whole table; ``python -m pytest benchmarks`` gives the
statistics of pytest-benchmark for each contender alone.
"""
