/// What can be asked of a path in a mount by ioctl(2), which a read-only mount allows: no argument goes along.
///
/// The numbers are `_IO('R', n)` of ioctl(2). The answer is how many pictures or listings were concerned.
package enum MountCommand: UInt32, Sendable, CaseIterable {
    /// Keep pictures once they are stored.
    case pin = 0x5201
    /// Let pinned pictures go again when room is needed.
    case unpin = 0x5202
    /// Drop stored pictures.
    case evict = 0x5203
    /// Ask the service again for a listing.
    case refresh = 0x5204
    /// Drop a listing, as if it had never been asked for.
    case forget = 0x5205
}
