import Glibc

/// Looks again and again for something that another process does; false when `milliseconds` have passed without it.
///
/// The number is a bound on a hang, never a figure.
func poll(upTo milliseconds: Int = 10_000, _ condition: () -> Bool) -> Bool {
    for _ in 0..<milliseconds / 2 {
        if condition() { return true }
        usleep(2000)
    }
    return condition()
}
