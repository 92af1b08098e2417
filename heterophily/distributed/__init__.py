"""One graph on several processes or machines: its rows are shared out, the training is as on one."""
