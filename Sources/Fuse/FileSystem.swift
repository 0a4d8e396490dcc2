/// A file system in terms of libfuse's low-level API: each request is a value, and its reply object takes the answer.
///
/// ## Concurrency
///
/// libfuse's worker threads call every method. A method must not wait: it answers at once from memory or disk, or passes the
/// reply to `reply.later { … }`, which starts a task, cancels the task when the kernel interrupts the request, and answers
/// ETIMEDOUT at the hard deadline. A reply that is dropped answers EIO. A method without an implementation answers ENOSYS;
/// operations that would write answer EROFS.
package protocol FileSystem: Sendable {
    func lookup(_ request: LookupRequest, reply: EntryReply)
    func forget(_ inode: UInt64, lookups: UInt64)
    func attributes(_ request: InodeRequest, reply: AttributesReply)
    func readLink(_ request: InodeRequest, reply: LinkReply)
    func open(_ request: OpenRequest, reply: OpenReply)
    /// The complete answer to a read that needs no further decision; with nil, `read` is called.
    ///
    /// Called for every read, before any bookkeeping for the read exists. Must not take a lock on which other threads wait.
    func part(of request: ReadRequest) -> FilePart?
    func read(_ request: ReadRequest, reply: DataReply)
    /// Ends an open file or directory.
    func release(_ request: ReleaseRequest)
    func openDirectory(_ request: OpenRequest, reply: OpenReply)
    func readDirectory(_ request: ReadRequest, reply: DirectoryReply)
    func statistics(_ request: InodeRequest, reply: StatisticsReply)
    func getExtendedAttribute(_ request: ExtendedAttributeRequest, reply: ExtendedAttributeReply)
    func listExtendedAttributes(_ request: ExtendedAttributeRequest, reply: ExtendedAttributeReply)
    func ioctl(_ request: IoctlRequest, reply: IoctlReply)
}
