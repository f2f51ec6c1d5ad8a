"""The printed noise: the sensitivity is 1/t and σ is 1/(tε)."""

from dpviz.accounting import gdp_epsilon

t, epsilon, delta = 150, 1.0, 1e-5
mu = (1 / t) / (1 / (t * epsilon))
print(f"ρ = {mu**2 / 2:g}, ε = {gdp_epsilon(mu, delta):.1f} at δ = {delta:g}")
