"""Steps of a run beside its optimizer's: what they state, and what they may open."""
