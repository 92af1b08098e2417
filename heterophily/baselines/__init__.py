"""The models HDP is compared with; one file each, none imports another."""
