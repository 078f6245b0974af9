package org.rdmapanama.samples.perf;

import java.io.OutputStream;
import javax.xml.stream.XMLStreamException;

/** A drawing of figures, which {@link Charts#write} puts into a file. */
public abstract sealed class Chart permits SvgChart, BarChart {
    /** For the kinds of charts. */
    Chart() {}

    /** Writes the chart as SVG. */
    abstract void write(OutputStream out) throws XMLStreamException;
}
