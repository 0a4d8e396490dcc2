/// A file system as libfuse's low-level API sees it: requests are values, each is answered by its reply.
///
/// ## Concurrency
///
/// Every method is called on one of libfuse's worker threads and must not wait: answer at once from memory or disk,
/// or hand the reply to `reply.later { … }`, which starts a task, cancels it when the kernel interrupts the request and
/// answers ETIMEDOUT at the hard deadline. A reply that is dropped answers EIO.
/// Methods without an implementation answer ENOSYS (EROFS for those that would write).
package protocol FileSystem: Sendable {
    func lookup(_ request: LookupRequest, reply: EntryReply)
    func forget(_ inode: UInt64, lookups: UInt64)
    func attributes(_ request: InodeRequest, reply: AttributesReply)
    func readLink(_ request: InodeRequest, reply: LinkReply)
    func open(_ request: OpenRequest, reply: OpenReply)
    /// The whole answer of a read that decides nothing more; nil has `read` called.
    ///
    /// Asked at every read, before anything is made to keep track of it: it may take no lock that others wait for.
    func part(of request: ReadRequest) -> FilePart?
    func read(_ request: ReadRequest, reply: DataReply)
    func release(_ request: ReleaseRequest)
    func openDirectory(_ request: OpenRequest, reply: OpenReply)
    func readDirectory(_ request: ReadRequest, reply: DirectoryReply)
    func releaseDirectory(_ request: ReleaseRequest)
    func statistics(_ request: InodeRequest, reply: StatisticsReply)
    func getExtendedAttribute(_ request: ExtendedAttributeRequest, reply: ExtendedAttributeReply)
    func listExtendedAttributes(_ request: ExtendedAttributeRequest, reply: ExtendedAttributeReply)
    func ioctl(_ request: IoctlRequest, reply: IoctlReply)
}

// MARK: - Defaults

// What a file system does not implement is answered here. ENOSYS is the word that the kernel remembers: it does not ask again.

extension FileSystem {
    package func forget(_ inode: UInt64, lookups: UInt64) {}
    package func lookup(_ request: LookupRequest, reply: EntryReply) { reply.fail(.ENOSYS) }
    package func attributes(_ request: InodeRequest, reply: AttributesReply) { reply.fail(.ENOSYS) }
    package func readLink(_ request: InodeRequest, reply: LinkReply) { reply.fail(.ENOSYS) }
    package func open(_ request: OpenRequest, reply: OpenReply) { reply.fail(.ENOSYS) }
    package func part(of request: ReadRequest) -> FilePart? { nil }
    package func read(_ request: ReadRequest, reply: DataReply) { reply.fail(.ENOSYS) }
    package func release(_ request: ReleaseRequest) {}
    package func openDirectory(_ request: OpenRequest, reply: OpenReply) { reply.fail(.ENOSYS) }
    package func readDirectory(_ request: ReadRequest, reply: DirectoryReply) { reply.fail(.ENOSYS) }
    package func releaseDirectory(_ request: ReleaseRequest) {}
    package func statistics(_ request: InodeRequest, reply: StatisticsReply) { reply.fail(.ENOSYS) }
    package func getExtendedAttribute(_ request: ExtendedAttributeRequest, reply: ExtendedAttributeReply) {
        reply.fail(.ENOSYS)
    }
    package func listExtendedAttributes(_ request: ExtendedAttributeRequest, reply: ExtendedAttributeReply) {
        reply.fail(.ENOSYS)
    }
    package func ioctl(_ request: IoctlRequest, reply: IoctlReply) { reply.fail(.ENOSYS) }
}
