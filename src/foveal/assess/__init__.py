"""The assessment tool: people read documents in the browser and highlight relevant text."""
