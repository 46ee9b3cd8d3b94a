"""Parts of JAX's own insides that public packages import, where fgrad has something in their place."""
