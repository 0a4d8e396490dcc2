/// Placeholder: the owner of SQLite replaces this file.
package final class Connection {}
