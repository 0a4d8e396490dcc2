/// Whether an answer that another machine was given will do.
package enum RequestSharing {
    /// Set while a person asks the service anew: then none will.
    @TaskLocal package static var isRefused = false
}
