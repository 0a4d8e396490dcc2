/// A program that runs.
struct CallingProgram: Hashable, Sendable {
    /// Its process number, the same for all of its threads.
    var process: Int32
    /// The name of its main thread, of which Linux keeps 15 bytes.
    var name: String
}
