"""The assessment tool: people read documents in the browser and mark what is relevant."""
