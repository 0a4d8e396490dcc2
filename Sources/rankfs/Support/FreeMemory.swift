import CLinux

/// Memory that the program has freed and the allocator has not.
enum FreeMemory {
    /// Gives whole pages back to the system, wherever in the heap they are (malloc_trim(3)).
    ///
    /// Takes a millisecond for some ten megabytes.
    @Sendable static func giveBack() {
        _ = malloc_trim(0)
    }
}
