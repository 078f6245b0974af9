/** A program of its own, to be linked with the libraries and the JDK. */
module com.example.image {
    requires org.rdmapanama.cm;
}
