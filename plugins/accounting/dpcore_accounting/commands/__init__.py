"""Commands about budgets."""
