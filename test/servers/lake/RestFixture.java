import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * Serves Apache's adapter of a catalog on 127.0.0.1, because its own main class listens on every
 * address. Takes the port, then the properties of the catalog as name=value.
 */
public class RestFixture {
  public static void main(String[] given) throws Exception {
    Map<String, String> properties = new HashMap<>();
    for (int at = 1; at < given.length; at += 1) {
      String[] parts = given[at].split("=", 2);
      properties.put(parts[0], parts[1]);
    }
    var catalog = CatalogUtil.buildIcebergCatalog("fixture", properties, new Configuration());
    var servlet = new RESTCatalogServlet(new RESTCatalogAdapter(catalog));
    var handler = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    handler.addServlet(new ServletHolder(servlet), "/*");
    var server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(given[0])));
    server.setHandler(handler);
    server.start();
    server.join();
  }
}
