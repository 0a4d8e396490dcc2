/// How the program calls itself where a service wants to know who asks.
///
/// Operators of open image boards let in programs that name themselves and somebody to write to, and turn away those that call
/// themselves browsers.
package enum OwnAgent {
    /// Name, version and contact, as a `User-Agent` (RFC 9110, section 10.1.5); the version is the program's.
    package static let text = "rankfs/0.1.0 (+mailto:rankfs@localhost.localdomain)"
    /// The same in a word or two.
    package static let description = "its own name"
}
