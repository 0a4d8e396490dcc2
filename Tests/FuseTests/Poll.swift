import Foundation

/// Looks again and again until `condition` holds.
///
/// False if it did not within so many seconds. Blocks its thread.
func poll(upTo seconds: Double = 20, _ condition: () throws -> Bool) rethrows -> Bool {
    let end = Date(timeIntervalSinceNow: seconds)
    while try !condition() {
        guard Date() < end else { return false }
        usleep(2000)
    }
    return true
}
