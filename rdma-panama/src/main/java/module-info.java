/**
 * RDMA verbs for Java, called through java.lang.foreign.
 *
 * <p>Run with {@code --enable-native-access=org.rdmapanama.ffm,org.rdmapanama}.
 */
module org.rdmapanama {
    requires org.apache.logging.log4j;
    requires org.rdmapanama.ffm;

    exports org.rdmapanama;
}
