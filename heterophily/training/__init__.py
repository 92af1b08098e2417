"""How anything is trained: one run or many."""
