/// How urgent what a task asks of the service is.
package enum RequestUrgency {
    /// Whether no person waits: a file manager counts or previews what it shows, a program walks over the tree.
    ///
    /// Such requests wait behind all others and leave half of a burst to them (Semantics, "Folder manners"). Tasks that a task
    /// starts inherit it.
    @TaskLocal package static var isBackground = false
}
