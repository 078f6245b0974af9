/** RDMA connections for Java: the connection manager of librdmacm. */
module org.rdmapanama.cm {
    requires org.apache.logging.log4j;
    requires org.rdmapanama;
    requires org.rdmapanama.ffm;
}
