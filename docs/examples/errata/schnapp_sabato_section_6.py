"""The share of ρ = 3 that an ε-DP baseline uses, because ε-DP is ε²/2-zCDP."""

import math

rho = 3.0
for words, epsilon in (("√(ρ/2)", math.sqrt(rho / 2)), ("√(2ρ)", math.sqrt(2 * rho))):
    print(f"{words} = {epsilon:.2f}: {epsilon**2 / 2:.2f}-zCDP")
