"""Is a difference real, does a measure measure: significance, correlation, fidelity, pools."""
