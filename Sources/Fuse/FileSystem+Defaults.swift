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
