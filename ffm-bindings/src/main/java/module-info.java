/**
 * The C headers of libibverbs and librdmacm as jextract renders them, and the loader of the two libraries.
 *
 * <p>Run with {@code --enable-native-access=org.rdmapanama.ffm,org.rdmapanama}.
 */
module org.rdmapanama.ffm {
    exports org.rdmapanama.ffm;
    exports org.rdmapanama.ffm.verbs;
}
