"""What people look at: tables, pictures, progress."""
