"""The paper's experiments again: suites of tasks, honest protocols, a safe runner, results."""
