"""Writes statistics.tsv: statistics of generated series, by SciPy.

    python3 -m venv venv && venv/bin/pip install scipy && venv/bin/python make_statistics.py > statistics.tsv

Value i of a series is (r_i + i * lean) * 10**exponent with r_i between -1000000 and 1000000 from the generator below. The test makes
the same series, one value in each bucket. Columns: n, lean, exponent, then mean, sample and population deviation, slope,
intercept, and the half-widths of the slope's intervals at 90, 95 and 99 percent; "-" where there is none.
"""

import numpy
import scipy
from scipy import stats

MASK = (1 << 64) - 1


def series(n, lean, exponent):
    state = n
    for i in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        whole = (state >> 33) % 2000001 - 1000000 + i * lean
        yield float(f"{whole}e{exponent}")


def row(n, lean, exponent):
    y = numpy.array(list(series(n, lean, exponent)), dtype=numpy.longdouble)
    # Long doubles for the sums: the reference is not to be limited by its own rounding.
    mean = y.mean()
    out = [mean, y.std(ddof=1) if n > 1 else 0.0, y.std(ddof=0)]
    if n >= 2:
        x = numpy.arange(1, n + 1, dtype=numpy.longdouble)
        xd, yd = x - x.mean(), y - mean
        slope = (xd * yd).sum() / (xd * xd).sum()
        out += [slope, mean - slope * x.mean()]
        if n >= 3:
            residual = yd - slope * xd
            error = numpy.sqrt((residual * residual).sum() / (n - 2) / (xd * xd).sum())
            out += [stats.t.ppf(p, n - 2) * error for p in (0.95, 0.975, 0.995)]
            # The same by SciPy's own regression, as far as doubles go.
            plain = stats.linregress(x.astype(float), y.astype(float))
            scale = abs(plain.slope) + plain.stderr
            assert abs(plain.slope - float(slope)) < 1e-9 * scale
            assert abs(plain.stderr - float(error)) < 1e-9 * plain.stderr
    return [n, lean, exponent] + [repr(float(v)) for v in out] + ["-"] * (8 - len(out))


print(f"# made by make_statistics.py with SciPy {scipy.__version__}, NumPy {numpy.__version__}")
for n in (1, 2, 3, 4, 5, 6, 10, 30, 100, 365, 1000, 1002, 1003, 2500, 10000):
    for lean, exponent in ((0, 0), (700, -2), (-31, -40), (5, 40)):
        print("\t".join(str(cell) for cell in row(n, lean, exponent)))
