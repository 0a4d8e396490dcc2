internal import HTTP
internal import ImageHost
internal import Rankings

/// Something to do outside the lock, in order.
enum Effect: Sendable {
    /// Make a request for a part of a picture.
    case start(FileKey, UInt64, PictureSegment, StartedTransfer, PartialFile)
    case cancel(any Transfer)
    case setPriority(any Transfer, TransferPriority)
    /// Let a request go that is no download's, or take its slot back.
    case send(OtherRequest, UInt64)
    case takeBack(OtherRequest, UInt64)
    /// It ends without having been sent.
    case refuse(OtherRequest, HTTPError)
    case resume(Wait, WaitResult)
    /// Look at the partial file of an earlier download.
    case reopen(FileKey, PartialFile)
    /// Keep a partial file for later.
    case park(PartialFile, total: Int64?, validator: String?, present: RangeSet)
    case discard(PartialFile)
    /// Write what changed in the index: now, or with what else changes in the next seconds.
    case writeIndex
    case writeIndexLater
    /// Keep the bytes only for those who have them open.
    case unlink(PartialFile)
    case removePartial(FileKey)
    /// A download has ended, or what it was told is void.
    case settled([CheckedContinuation<Void, Never>])
    /// Compute the digest of all bytes and tell it.
    case check(FileKey, PartialFile, length: Int64)
    /// Move a whole picture to its place.
    case commit(FileKey, PartialFile, length: Int64)
    /// Compare the free disk with its floor.
    case checkDisk
    /// Remove stored files and their rows.
    case remove([FileKey])
    /// Ask the neighbours for the pictures at these places and queue them.
    case planPreloads(Neighbours, [Int])
    case report(ImageCacheEvent)
    /// A picture is really read; its opener wants to know.
    case tell(@Sendable () -> Void)
}

/// What a waiter is told.
enum WaitResult: Sendable {
    /// What was read, and the version that the reader has from now on.
    case bytes(PictureBytes, PictureVersion?)
    case length(Int64)
    /// Things changed: look again.
    case again
    case failed(ImageCacheError)
}
