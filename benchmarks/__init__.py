"""How fast Foveal is, as ratios against other tools measured in the same run."""
