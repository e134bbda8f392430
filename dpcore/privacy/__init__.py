"""What a release costs, what is promised, and which parts are trusted with rows."""
