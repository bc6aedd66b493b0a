/** The parts of chart.js that are used, so that the others stay out of the bundle. */
import {
  CategoryScale,
  Chart,
  LinearScale,
  LineElement,
  LogarithmicScale,
  PointElement,
  ScatterController,
  Tooltip,
} from 'chart.js';

Chart.register(CategoryScale, LinearScale, LineElement, LogarithmicScale, PointElement, ScatterController, Tooltip);

export { Chart };
